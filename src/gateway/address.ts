import { parseWebhookPath } from "../receiver/path.ts";

/** Where a request came to: by a secret, or by the name of a party. */
export interface InboundAddress {
  readonly token: string | null;
  readonly party: string | null;
  /** Of `/_webhooks/{party}/…/{event_type}`. */
  readonly eventType: string | null;
  /** Path and query behind what names the source; empty for nothing. */
  readonly rest: string;
  /** For logs, without the secret. */
  readonly shown: string;
}

const secretPrefix = "/in/";
const partyPrefix = "/_webhooks/";
const lengthMax = 8_192;

/** Null for an address that can be nobody's. */
export function readAddress(url: string): InboundAddress | null {
  if (url.length > lengthMax || !/^[\x21-\x7e]+$/.test(url)) return null;
  const at = url.indexOf("?");
  const path = at < 0 ? url : url.slice(0, at);
  const query = at < 0 ? "" : url.slice(at);
  if (path.startsWith(secretPrefix)) return readSecret({ behind: path.slice(secretPrefix.length), query });
  const parsed = parseWebhookPath(path);
  if (parsed.kind === "invalid") return null;
  const { party, eventType } = parsed.path;
  const behind = path.slice(partyPrefix.length);
  const slash = behind.indexOf("/");
  const rest = `${slash < 0 ? "" : behind.slice(slash)}${query}`;
  return isPlain(rest) ? { token: null, party, eventType, rest, shown: url } : null;
}

function readSecret({
  behind,
  query,
}: {
  readonly behind: string;
  readonly query: string;
}): InboundAddress | null {
  const slash = behind.indexOf("/");
  const token = slash < 0 ? behind : behind.slice(0, slash);
  const rest = `${slash < 0 ? "" : behind.slice(slash)}${query}`;
  if (!/^[A-Za-z0-9_-]{16,128}$/.test(token) || !isPlain(rest)) return null;
  return { token, party: null, eventType: null, rest, shown: `${secretPrefix}…${rest}` };
}

/** Path and query behind what names the source, of an address as logs show it. */
export function restOfShown(shown: string): string {
  const prefix = [secretPrefix, partyPrefix].find((one) => shown.startsWith(one)) ?? "";
  return /[/?].*$/s.exec(shown.slice(prefix.length))?.[0] ?? "";
}

/** Appended to the path of a webhook it leads below it, and nowhere else. */
function isPlain(rest: string): boolean {
  if (rest === "") return true;
  const [path = ""] = rest.split("?");
  return path.split("/").every((segment) => {
    try {
      const decoded = decodeURIComponent(segment);
      return decoded !== "." && decoded !== ".." && !/[/\\\p{Cc}]/u.test(decoded);
    } catch {
      return false;
    }
  });
}
