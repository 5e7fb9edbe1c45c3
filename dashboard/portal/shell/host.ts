/**
 * Messages between the frame and the host page. The host provides session codes and is notified of navigation. The host
 * is trusted if it is the parent of this frame and the session allows its origin. `frame-ancestors` enforces both as
 * well.
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
/** Set once a session has been opened. */
let hostOrigin: string | null = null;
/** Colour scheme requested by the host: light or dark. */
export const hostScheme = signal<string | null>(null);

export function trustHost(origin: string, allowed: readonly string[]): boolean {
  hostOrigin = allowed.includes(origin) ? origin : null;
  return hostOrigin !== null;
}

/** Listens to messages of the parent. Once a session is open, only its trusted origin is accepted. */
export function hearHost(heard: (message: HostMessage, origin: string) => void): void {
  if (!isFramed) return;
  addEventListener("message", (event) => {
    if (event.source !== window.parent) return;
    if (hostOrigin !== null && event.origin !== hostOrigin) return;
    const message = event.data as HostMessage | null;
    if (typeof message?.type === "string" && message.type.startsWith("posthorn:"))
      heard(message, event.origin);
  });
  // The message contains no data, so any origin may receive it. Replies are checked.
  window.parent.postMessage({ type: "posthorn:ready" }, "*");
}

export function tellHost(message: HostMessage & Readonly<Record<string, unknown>>): void {
  if (hostOrigin !== null) window.parent.postMessage(message, hostOrigin);
}

/** Reports the content height, so that the host can resize the frame. */
export function tellHeight(): void {
  if (!isFramed) return;
  const tell = (): void =>
    tellHost({ type: "posthorn:height", height: Math.ceil(document.body.getBoundingClientRect().height) });
  new ResizeObserver(tell).observe(document.body);
}
