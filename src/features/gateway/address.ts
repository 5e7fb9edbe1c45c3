import { parseWebhookPath } from "../../receiver/path.ts";

/** The address of a request identifies its source by a secret or by the name of a party. */
export interface InboundAddress {
  readonly token: string | null;
  readonly party: string | null;
  /** The event type in `/_webhooks/{party}/…/{event_type}`. */
  readonly eventType: string | null;
  /** Path and query after the part that identifies the source; may be empty. */
  readonly rest: string;
  /** The address for logs, without the secret. */
  readonly shown: string;
  /**
   * Whether the remaining path could escape the receiver's path, although the address identifies a source. Such a
   * request is answered with 404 and logged.
   */
  readonly isUnsafe: boolean;
}

const secretPrefix = "/in/";
const partyPrefix = "/_webhooks/";
const lengthMax = 8_192;

/** Parses the URL of a request. Null if the URL does not identify a source. */
export function readAddress(url: string): InboundAddress | null {
  const at = url.indexOf("?");
  const path = at < 0 ? url : url.slice(0, at);
  const query = at < 0 ? "" : url.slice(at);
  if (path.startsWith(secretPrefix)) return readSecret(path.slice(secretPrefix.length), query);
  if (!path.startsWith(partyPrefix)) return null;
  const parsed = parseWebhookPath(path);
  const behind = path.slice(partyPrefix.length);
  const slash = behind.indexOf("/");
  const rest = `${slash < 0 ? "" : behind.slice(slash)}${query}`;
  const party = parsed.kind === "path" ? parsed.path.party : decoded(behind.split("/", 1)[0] ?? "");
  if (party === null || party === "") return null;
  const isUnsafe = parsed.kind === "invalid" || !isPlain(rest);
  const eventType = parsed.kind === "path" ? parsed.path.eventType : null;
  return { token: null, party, eventType, rest, shown: url, isUnsafe };
}

function readSecret(behind: string, query: string): InboundAddress | null {
  const slash = behind.indexOf("/");
  const token = slash < 0 ? behind : behind.slice(0, slash);
  const rest = `${slash < 0 ? "" : behind.slice(slash)}${query}`;
  if (!/^[A-Za-z0-9_-]{16,128}$/.test(token)) return null;
  return {
    token,
    party: null,
    eventType: null,
    rest,
    shown: `${secretPrefix}…${rest}`,
    isUnsafe: !isPlain(rest),
  };
}

/**
 * Returns the path and query after the part that identifies the source. The address must have the form that logs show.
 */
export function restOfShown(shown: string): string {
  const prefix = [secretPrefix, partyPrefix].find((one) => shown.startsWith(one)) ?? "";
  return /[/?].*$/s.exec(shown.slice(prefix.length))?.[0] ?? "";
}

/** Whether the remaining path, appended to the path of a webhook, stays below that path. */
function isPlain(rest: string): boolean {
  if (rest === "") return true;
  if (rest.length > lengthMax || !/^[\x21-\x7e]+$/.test(rest)) return false;
  const [path = ""] = rest.split("?");
  return path.split("/").every(isPlainSegment);
}

/** Some servers decode a path repeatedly, so a path separator that appears in any decoding round is refused. */
const decodingsMax = 4;

function isPlainSegment(segment: string): boolean {
  let text = decoded(segment);
  if (text === null) return false;
  for (let round = 1; round <= decodingsMax; round += 1) {
    if (leadsElsewhere(text)) return false;
    const again = decoded(text);
    // A percent sign that does not start an encoded byte is plain text.
    if (again === null || again === text) return true;
    text = again;
  }
  return false;
}

/**
 * Detects dot segments, separators and control characters as lenient servers read them: they strip parameters
 * (`..;x=1`), trim whitespace, and normalize Unicode.
 */
function leadsElsewhere(segment: string): boolean {
  const folded = segment.normalize("NFKC");
  if (/[/\\\p{Cc}]/u.test(folded)) return true;
  return /^\s*\.{1,2}\s*$/.test(folded.split(";", 1)[0] ?? "");
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Detects URLs that lead back to this deployment, where a message could loop. */

export interface OwnAddressesOptions {
  /** Public URLs of the deployment, and the addresses on which this process listens. */
  readonly urls: readonly string[];
  /** Base path that a proxy forwards; empty if it forwards all paths. */
  readonly basePath: string;
  /** The IP addresses of a host; empty if they cannot be determined. Never rejects. */
  readonly addressesOf: (hostname: string) => Promise<readonly string[]>;
}

interface Place {
  readonly hostname: string;
  readonly port: string;
}

export class OwnAddresses {
  readonly #options: OwnAddressesOptions;
  readonly #places: Place[];

  constructor(options: OwnAddressesOptions) {
    this.#options = options;
    this.#places = options.urls.map((url) => placeOf(new URL(url)));
  }

  /** Adds a URL on which this process listens. */
  add(url: string): void {
    this.#places.push(placeOf(new URL(url)));
  }

  /** True if the host name is one of ours, or if the URL has a gateway path on one of our IP addresses. */
  async includes(text: string): Promise<boolean> {
    const url = new URL(text);
    const { basePath } = this.#options;
    if (basePath !== "" && !url.pathname.startsWith(`${basePath}/`)) return false;
    const place = placeOf(url);
    const samePort = this.#places.filter(({ port }) => port === place.port);
    if (samePort.some(({ hostname }) => hostname === place.hostname)) return true;
    const below = url.pathname.slice(basePath.length);
    // Other services may share the IP address behind the same proxy, so the path must match too.
    if (samePort.length === 0 || !inboundPath.test(below)) return false;
    const { addressesOf } = this.#options;
    const theirs = new Set(await addressesOf(place.hostname));
    const ours = await Promise.all(samePort.map(({ hostname }) => addressesOf(hostname)));
    return ours.flat().some((address) => theirs.has(address));
  }
}

const inboundPath = /^\/(in|_webhooks)\//;

function placeOf({ hostname, port, protocol }: URL): Place {
  const usual = protocol === "https:" ? "443" : "80";
  return { hostname, port: port === "" ? usual : port };
}
