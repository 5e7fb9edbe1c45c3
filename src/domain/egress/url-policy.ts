/**
 * Which URLs may be registered and called (TS16-25, TS16-124, EDS-11.7-2, WDS-168, WDS-169, WDS-171).
 *
 * The text is judged twice: as given, because a parser silently repairs the input (backslashes, tabs, an empty user
 * name), and as parsed, because only parsing shows that `0x7f.1` is 127.0.0.1. Acceptance says nothing about the IP
 * addresses that a name resolves to: every address is judged again when connecting.
 */
import type { AddressPolicy } from "./address-policy.ts";

/** Maximum length of a URL in characters, both as given and as normalised (WDS-171). */
export const urlLengthMax = 2048;

/** Stable codes for a refused URL. */
const urlRefusalCodes = [
  "not_text",
  "too_long",
  "forbidden_character",
  "unparsable",
  "scheme",
  "credentials",
  "fragment",
  "empty_host",
  "port",
  "host_name",
  "address",
] as const;
export type UrlRefusalCode = (typeof urlRefusalCodes)[number];

export interface UrlRules {
  readonly policy: AddressPolicy;
  /** Whether to accept `http:` as well, in development only (TS16-25). */
  readonly allowHttp: boolean;
  /**
   * Whether to accept single-label names and names under private suffixes such as `.internal`. Meant for installations
   * whose allow-list opens a private network; the resolved addresses are still judged. Off by default.
   */
  readonly allowInternalNames?: boolean;
}

export type UrlJudgement =
  | {
      readonly kind: "ok";
      /** The normalised URL. This form is stored, shown and called. */
      readonly url: string;
      /** Scheme, host and any non-default port, such as `https://example.com:8443`. */
      readonly origin: string;
      /** Host name without the brackets of IPv6 addresses. */
      readonly hostname: string;
      /** The IP address if the host is one, otherwise null. */
      readonly literalAddress: string | null;
    }
  | UrlRefusal;

/** `detail` is a human-readable sentence that never repeats the URL, which may contain a token. */
export interface UrlRefusal {
  readonly kind: "refused";
  readonly code: UrlRefusalCode;
  readonly detail: string;
}

/** Control characters, format characters (zero-width, soft hyphen), separators, lone surrogates and backslashes. */
const forbiddenCharacter = /[\p{Cc}\p{Cf}\p{Zs}\p{Zl}\p{Zp}\p{Cs}\\]/u;

/** Suffixes that are private by standard (RFC 6762, 8375, 6761, ICANN's `.internal`) or by common use. */
const internalSuffixes = [
  "local",
  "internal",
  "localdomain",
  "home.arpa",
  "home",
  "lan",
  "corp",
  "intranet",
  "private",
  "onion",
] as const;

const notAbsolute = "must be an absolute URL such as https://example.com/hooks";

/** Judges a URL as a delivery target. */
export function judgeUrl(text: unknown, rules: UrlRules): UrlJudgement {
  if (typeof text !== "string") return refused("not_text", "a URL must be a string");
  const rawRefusal = judgeRawText(text);
  if (rawRefusal !== null) return rawRefusal;
  const url = URL.parse(text);
  if (url === null) return refused("unparsable", notAbsolute);
  const partRefusal = judgeParts(url, rules);
  if (partRefusal !== null) return partRefusal;
  const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const literalAddress = isAddressLiteral(url.hostname) ? hostname : null;
  const hostRefusal =
    literalAddress === null ? judgeHostName(hostname, rules) : judgeLiteral(literalAddress, rules.policy);
  if (hostRefusal !== null) return hostRefusal;
  return { kind: "ok", url: url.href, origin: url.origin, hostname, literalAddress };
}

function judgeRawText(text: string): UrlRefusal | null {
  if (text.length > urlLengthMax) return tooLong();
  if (forbiddenCharacter.test(text)) {
    return refused(
      "forbidden_character",
      "a URL must not contain spaces, control characters, invisible characters or backslashes",
    );
  }
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return refused("unparsable", notAbsolute);
  if (scheme !== "https" && scheme !== "http") return refused("scheme", "the scheme must be https");
  return judgeRawAuthority(text.slice(scheme.length + 1));
}

/**
 * `rest` is the part of the URL after `https:`. The parser silently drops empty parts, so they can be detected only
 * here.
 */
function judgeRawAuthority(rest: string): UrlRefusal | null {
  if (!rest.startsWith("//")) return refused("unparsable", "two slashes must follow the scheme");
  if (rest.includes("#")) return refused("fragment", "a fragment is not accepted because it is never sent");
  const authority = /^\/\/([^/?]*)/.exec(rest)?.[1] ?? "";
  if (authority.includes("@")) {
    return refused("credentials", "user name and password are not accepted in a URL");
  }
  if (authority.replace(/:\d*$/, "") === "") return refused("empty_host", "the host is empty");
  return null;
}

function judgeParts(url: URL, rules: UrlRules): UrlRefusal | null {
  if (url.href.length > urlLengthMax) return tooLong();
  if (url.protocol !== "https:" && !rules.allowHttp) {
    return refused("scheme", "the scheme must be https");
  }
  // The raw text has already been checked. This check guards against differences between the two interpretations.
  if (url.username !== "" || url.password !== "") {
    return refused("credentials", "user name and password are not accepted in a URL");
  }
  if (url.port === "0") return refused("port", "port 0 cannot be connected to");
  return null;
}

/** The parser has already normalised every IPv4 notation (decimal, octal, hex, short, full-width) to a dotted quad. */
function isAddressLiteral(hostname: string): boolean {
  return hostname.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(hostname);
}

function judgeLiteral(address: string, policy: AddressPolicy): UrlRefusal | null {
  const judgement = policy.judge(address);
  return judgement.allowed ? null : refused("address", `the host is ${judgement.reason}`);
}

function judgeHostName(hostname: string, rules: UrlRules): UrlRefusal | null {
  if (hostname.endsWith(".")) {
    return refused("host_name", "the host must not end with a dot");
  }
  const labels = hostname.split(".");
  if (hostname.length > 253 || labels.some((label) => label === "" || label.length > 63)) {
    return refused(
      "host_name",
      "a host has labels of 1 to 63 characters, and no more than 253 characters in total",
    );
  }
  if (labels.at(-1) === "localhost") {
    if (rules.policy.allowLoopback) return null;
    return refused("host_name", "the host is this machine (localhost)");
  }
  if (rules.allowInternalNames === true) return null;
  if (labels.length === 1) {
    return refused("host_name", "a host with a single label is not a public name");
  }
  if (internalSuffixes.some((suffix) => hostname.endsWith(`.${suffix}`))) {
    return refused("host_name", "the host is under a suffix for private networks");
  }
  return null;
}

function tooLong(): UrlRefusal {
  return refused("too_long", `a URL has at most ${urlLengthMax} characters`);
}

function refused(code: UrlRefusalCode, detail: string): UrlRefusal {
  return { kind: "refused", code, detail };
}
