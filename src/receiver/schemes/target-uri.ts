import type { ReceivedMessage } from "../message/message.ts";
import { misconfigured } from "../providers/options.ts";

/**
 * The address as its sender used it, reconstructed from the request. Behind a proxy only the application knows scheme
 * and host, so it can configure them. Otherwise an absolute URL is used unchanged, and a path gets the Host header,
 * with `https` unless the host is this machine. Forwarding headers are ignored, because any sender can set them.
 */
export function targetUriOf(message: ReceivedMessage, publicOrigin: string | null): string {
  const { url } = message;
  const absolute = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(url)?.[0];
  const pathAndQuery = (absolute === undefined ? url : url.slice(absolute.length)).replace(/#.*$/s, "");
  return `${publicOrigin ?? absolute ?? originFromHost(message)}${pathAndQuery}`;
}

function originFromHost({ headers }: ReceivedMessage): string {
  const host = headers.get("host")?.trim() ?? "";
  const isThisMachine = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/i.test(host);
  return `${isThisMachine ? "http" : "https"}://${host}`;
}

/**
 * Validates the option: scheme, host, and optionally the part of the path that a proxy removes. A trailing slash is
 * dropped. Null if it was not given. Throws ReceiverError `misconfigured`.
 */
export function publicOriginOf(given: string | undefined): string | null {
  if (given === undefined) return null;
  if (typeof given === "string" && /^https?:\/\/[^/?#\s]+(?:\/[^?#\s]*)?$/i.test(given)) {
    return given.endsWith("/") ? given.slice(0, -1) : given;
  }
  throw misconfigured("publicOrigin must be scheme and host, such as https://hooks.example.com");
}
