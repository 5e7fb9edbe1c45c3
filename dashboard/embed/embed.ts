/**
 * `<posthorn-portal>`: shows the portal in a frame. The page gives `getSession`, which asks its backend for a session of whoever
 * is logged in, and hears `navigate`, `endpoint-created` and `session-ended`.
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

class PosthornPortal extends HTMLElement {
  static readonly observedAttributes = ["path", "theme", "locale"];
  #getSession: GetSession | null = null;
  #isOpening = false;
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
    void this.#open();
  }

  get getSession(): GetSession | null {
    return this.#getSession;
  }

  /** Asks the host's backend for a session of whoever is logged in there. */
  set getSession(value: GetSession | null) {
    this.#getSession = value;
    if (this.isConnected) void this.#open();
  }

  disconnectedCallback(): void {
    removeEventListener("message", this.#hear);
    this.#frame?.remove();
    this.#frame = null;
  }

  attributeChangedCallback(name: string, before: string | null, value: string | null): void {
    if (this.#frame === null || before === value) return;
    if (name === "theme") this.#tell({ type: "posthorn:scheme", scheme: value });
    if (name === "path") this.#tell({ type: "posthorn:path", path: value });
  }

  async #open(): Promise<void> {
    if (this.#getSession === null || this.#isOpening || this.#frame !== null) return;
    this.#isOpening = true;
    await this.#show();
    this.#isOpening = false;
  }

  async #show(): Promise<void> {
    const url = await this.#ask();
    if (url === null || !this.isConnected) return;
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

  /** The address of a new session without its code, which is kept for the frame. */
  async #ask(): Promise<URL | null> {
    try {
      if (this.#getSession === null) return null;
      const url = new URL((await this.#getSession()).url);
      this.#code = new URLSearchParams(url.hash.slice(1)).get("c");
      return url;
    } catch (error) {
      this.#say("session-ended", { error });
      return null;
    }
  }

  #heard({ source, origin, data }: MessageEvent): void {
    if (this.#frame === null || source !== this.#frame.contentWindow || origin !== this.#origin) return;
    const { type, path, id, height } = (data ?? {}) as PortalMessage;
    if (type === "posthorn:ready") this.#enter();
    else if (type === "posthorn:renew") void this.#ask().then((url) => url !== null && this.#enter());
    else if (type === "posthorn:navigate") this.#say("navigate", { path });
    else if (type === "posthorn:endpoint-created") this.#say("endpoint-created", { id });
    else if (type === "posthorn:session-ended") this.#say("session-ended", {});
    else if (type === "posthorn:height" && typeof height === "number" && height > 0 && height < heightMax)
      this.#frame.style.blockSize = `${height}px`;
  }

  #enter(): void {
    const [path, scheme, locale] = ["path", "theme", "locale"].map((name) => this.getAttribute(name));
    // A code works once: a frame that was loaded anew needs another one.
    if (this.#code === null) return void this.#ask().then((url) => url !== null && this.#enter());
    this.#tell({ type: "posthorn:code", code: this.#code, path, scheme, locale });
    this.#code = null;
  }

  #tell(message: object): void {
    this.#frame?.contentWindow?.postMessage(message, this.#origin);
  }

  #say(name: string, detail: object): void {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

customElements.define("posthorn-portal", PosthornPortal);
