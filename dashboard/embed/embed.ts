/**
 * `<posthorn-portal>` shows the portal in a frame. The page sets `getSession`, which requests a session for the
 * logged-in user from the page's backend. The element fires `navigate`, `endpoint-created`, `session-ended` and
 * `session-failed`. While `getSession` fails, the element shows a message and retries with growing delays. It does not
 * fire `session-ended` then, because pages reload on that event.
 */
interface Session {
  /** `url` from the response of `POST /v1/portal-sessions`. */
  readonly url: string;
}

type GetSession = () => Promise<Session>;

interface PortalMessage {
  readonly type?: unknown;
  readonly path?: unknown;
  readonly id?: unknown;
  readonly height?: unknown;
}

const heightMax = 100_000;
const answerMsMax = 30_000;
/** Delays between retries double from the minimum to the maximum. */
const pauseMsMin = 2_000;
const pauseMsMax = 300_000;
/** Minimum interval between `session-ended` events, so that a page that reloads on them does not loop. */
const endedPauseMs = 60_000;
const endedKey = "posthorn-portal:session-ended";

const texts = {
  en: { failed: "The portal cannot be opened right now. Retrying automatically.", again: "Try again" },
  de: {
    failed: "Das Portal kann gerade nicht geöffnet werden. Es wird automatisch erneut versucht.",
    again: "Erneut versuchen",
  },
};

class PosthornPortal extends HTMLElement {
  static readonly observedAttributes = ["path", "theme", "locale"];
  #getSession: GetSession | null = null;
  #isAsking = false;
  #failures = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #notice: HTMLElement | null = null;
  #frame: HTMLIFrameElement | null = null;
  #origin = "";
  #code: string | null = null;
  readonly #hear = (event: MessageEvent): void => this.#heard(event);

  connectedCallback(): void {
    addEventListener("message", this.#hear);
    // A property set before the element was defined shadows the setter.
    const own = Object.getOwnPropertyDescriptor(this, "getSession")?.value as GetSession | undefined;
    if (own !== undefined) {
      Reflect.deleteProperty(this, "getSession");
      this.#getSession = own;
    }
    this.#open();
  }

  get getSession(): GetSession | null {
    return this.#getSession;
  }

  /** Requests a session for the logged-in user from the host's backend. */
  set getSession(value: GetSession | null) {
    this.#getSession = value;
    if (this.isConnected) this.#open();
  }

  disconnectedCallback(): void {
    removeEventListener("message", this.#hear);
    clearTimeout(this.#retry);
    this.#clear();
    this.#frame?.remove();
    this.#frame = null;
  }

  attributeChangedCallback(name: string, before: string | null, value: string | null): void {
    if (this.#frame === null || before === value) return;
    if (name === "theme") this.#tell({ type: "posthorn:scheme", scheme: value });
    if (name === "path") this.#tell({ type: "posthorn:path", path: value });
  }

  #open(): void {
    if (this.#frame === null) this.#ask((url) => this.#show(url));
  }

  #show(url: URL): void {
    if (this.#frame !== null) return;
    const frame = document.createElement("iframe");
    frame.title = this.getAttribute("label") ?? "Webhooks";
    frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms allow-popups");
    frame.allow = "clipboard-write";
    frame.style.cssText = "border:0;display:block;inline-size:100%;min-block-size:20rem";
    url.hash = "";
    frame.src = url.href;
    this.#origin = url.origin;
    this.#frame = frame;
    this.append(frame);
  }

  /**
   * Requests a session, keeps its code for the frame, and passes its URL to `use`. Sends only one request at a time.
   */
  #ask(use: (url: URL) => void): void {
    const getSession = this.#getSession;
    if (getSession === null || this.#isAsking) return;
    this.#isAsking = true;
    clearTimeout(this.#retry);
    sessionUrl(getSession).then(
      (url) => {
        this.#isAsking = false;
        this.#failures = 0;
        this.#code = new URLSearchParams(url.hash.slice(1)).get("c");
        this.#clear();
        if (this.isConnected) use(url);
      },
      (error: unknown) => {
        this.#isAsking = false;
        this.#failed(error, use);
      },
    );
  }

  #failed(error: unknown, use: (url: URL) => void): void {
    if (!this.isConnected) return;
    const retryInMs = Math.min(pauseMsMax, pauseMsMin * 2 ** this.#failures);
    this.#failures += 1;
    this.#retry = setTimeout(() => this.#ask(use), retryInMs);
    if (this.#frame === null && this.#notice === null) this.#explain(use);
    this.#say("session-failed", { error, retryInMs });
  }

  /** Shows a message in place of the frame. */
  #explain(use: (url: URL) => void): void {
    const isGerman = (this.getAttribute("locale") ?? navigator.language).startsWith("de");
    const { failed, again } = texts[isGerman ? "de" : "en"];
    const notice = document.createElement("p");
    notice.setAttribute("role", "status");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = again;
    button.addEventListener("click", () => this.#ask(use));
    notice.append(`${failed} `, button);
    this.#notice = notice;
    this.append(notice);
  }

  #clear(): void {
    this.#notice?.remove();
    this.#notice = null;
  }

  #heard({ source, origin, data }: MessageEvent): void {
    if (this.#frame === null || source !== this.#frame.contentWindow || origin !== this.#origin) return;
    const { type, path, id, height } = (data ?? {}) as PortalMessage;
    if (type === "posthorn:ready") this.#enter();
    else if (type === "posthorn:renew") this.#ask(() => this.#enter());
    else if (type === "posthorn:navigate") this.#say("navigate", { path });
    else if (type === "posthorn:endpoint-created") this.#say("endpoint-created", { id });
    else if (type === "posthorn:session-ended") this.#ended();
    else if (type === "posthorn:height" && typeof height === "number" && height > 0 && height < heightMax)
      this.#frame.style.blockSize = `${height}px`;
  }

  #enter(): void {
    const [path, scheme, locale] = ["path", "theme", "locale"].map((name) => this.getAttribute(name));
    // A code can be used only once, so a reloaded frame needs a new one.
    if (this.#code === null) return this.#ask(() => this.#enter());
    this.#tell({ type: "posthorn:code", code: this.#code, path, scheme, locale });
    this.#code = null;
  }

  /**
   * Fires `session-ended`, limited to once a minute, because every session looks expired if the browser's clock is
   * wrong.
   */
  #ended(): void {
    const since = Date.now() - lastEnded();
    const waitMs = since >= 0 && since < endedPauseMs ? endedPauseMs - since : 0;
    setTimeout(() => {
      if (!this.isConnected) return;
      rememberEnded();
      this.#say("session-ended", {});
    }, waitMs);
  }

  #tell(message: object): void {
    this.#frame?.contentWindow?.postMessage(message, this.#origin);
  }

  #say(name: string, detail: object): void {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

async function sessionUrl(getSession: GetSession): Promise<URL> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("getSession timed out")), answerMsMax);
  });
  try {
    return new URL((await Promise.race([getSession(), late])).url);
  } finally {
    clearTimeout(timer);
  }
}

/** When the last `session-ended` event was fired. The value survives page reloads. 0 if the browser blocks storage. */
function lastEnded(): number {
  try {
    return Number(sessionStorage.getItem(endedKey) ?? 0);
  } catch {
    return 0;
  }
}

function rememberEnded(): void {
  try {
    sessionStorage.setItem(endedKey, String(Date.now()));
  } catch {
    // If storage is blocked, the limit does not survive a reload.
  }
}

customElements.define("posthorn-portal", PosthornPortal);
