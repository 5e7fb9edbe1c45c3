/**
 * `<posthorn-portal>`: shows the portal in a frame. The page gives `getSession`, which asks its backend for a session of whoever
 * is logged in, and gets the events `navigate`, `endpoint-created`, `session-ended` and `session-failed`. While `getSession`
 * fails, the element says so and tries again by itself, more and more slowly. That is not `session-ended`: pages reload on that.
 */
interface Session {
  /** As `POST /v1/portal-sessions` answered it. */
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
/** Pauses after failures double from the first to the last one. */
const pauseMsMin = 2_000;
const pauseMsMax = 300_000;
/** A page that reloads when its session has ended cannot do so more often, whatever ends them. */
const endedPauseMs = 60_000;
const endedKey = "posthorn-portal:session-ended";

const texts = {
  en: { failed: "The portal cannot be opened right now. It tries again by itself.", again: "Try again" },
  de: {
    failed: "Das Portal lässt sich gerade nicht öffnen. Es versucht es von selbst noch einmal.",
    again: "Noch einmal versuchen",
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
    // Set before this script was there, it hides the setter.
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

  /** Asks the host's backend for a session of whoever is logged in there. */
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

  /** Keeps the code of a new session for the frame, and goes on with its address. One question at a time. */
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

  /** In the place of the frame. */
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
    // A code works once: a frame that was loaded anew needs another one.
    if (this.#code === null) return this.#ask(() => this.#enter());
    this.#tell({ type: "posthorn:code", code: this.#code, path, scheme, locale });
    this.#code = null;
  }

  /** At once, or a minute after the last time: the clock of a browser may be so wrong that each session looks over. */
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
    timer = setTimeout(() => reject(new Error("getSession did not answer")), answerMsMax);
  });
  try {
    return new URL((await Promise.race([getSession(), late])).url);
  } finally {
    clearTimeout(timer);
  }
}

/** Over reloads of the page; a browser may keep its storage from us. */
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
    // Then the page reloads as often as its sessions end.
  }
}

customElements.define("posthorn-portal", PosthornPortal);
