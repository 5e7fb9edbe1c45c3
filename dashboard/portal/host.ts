/**
 * The page around the frame. It gives codes and hears where somebody goes; it is believed when it is the parent of this frame
 * and its origin is one that the session names, which `frame-ancestors` enforces too.
 */
import { signal } from "@preact/signals";

export interface HostMessage {
  readonly type: string;
  readonly code?: unknown;
  readonly path?: unknown;
  readonly scheme?: unknown;
  readonly locale?: unknown;
}

export const isFramed = window.parent !== window;
/** Known since its code opened a session. */
let hostOrigin: string | null = null;
/** As the page around says it: light or dark. */
export const hostScheme = signal<string | null>(null);

export function trustHost(origin: string, allowed: readonly string[]): boolean {
  hostOrigin = allowed.includes(origin) ? origin : null;
  return hostOrigin !== null;
}

/** Calls back for messages of the parent; once a session is open, of its origin alone. */
export function hearHost(heard: (message: HostMessage, origin: string) => void): void {
  if (!isFramed) return;
  addEventListener("message", (event) => {
    if (event.source !== window.parent) return;
    if (hostOrigin !== null && event.origin !== hostOrigin) return;
    const message = event.data as HostMessage | null;
    if (typeof message?.type === "string" && message.type.startsWith("posthorn:"))
      heard(message, event.origin);
  });
  // Holds nothing, so anybody may hear it; who answers is looked at.
  window.parent.postMessage({ type: "posthorn:ready" }, "*");
}

export function tellHost(message: HostMessage & Readonly<Record<string, unknown>>): void {
  if (hostOrigin !== null) window.parent.postMessage(message, hostOrigin);
}

/** The frame is as high as what it shows. */
export function tellHeight(): void {
  if (!isFramed) return;
  const tell = (): void =>
    tellHost({ type: "posthorn:height", height: Math.ceil(document.body.getBoundingClientRect().height) });
  new ResizeObserver(tell).observe(document.body);
}
