import { createAddressPolicy, InvalidCidrError } from "../domain/egress/address-policy.ts";
import { isLoopbackHost } from "../domain/http/network.ts";
import { isDecodable } from "../domain/http/percent-encoding.ts";
import type { Reading, ValueKind } from "./option.ts";

/** Any text without control characters, which are usually the result of a quoting mistake. */
export const text: ValueKind<string> = {
  title: "text",
  unit: null,
  read: (raw) => readText(raw),
  show: (value) => value,
};

/** Optional text. */
export const optionalText: ValueKind<string | null> = {
  title: "text",
  unit: null,
  read: (raw) => readText(raw),
  show: (value) => value ?? "",
};

/** Both bounds are inclusive. */
interface IntegerRange {
  readonly min: number;
  readonly max: number;
  readonly unit: string | null;
}

/** A whole number in a range. Only digits are accepted, so that mistakes such as `1e3` and `0x10` are rejected. */
export function integer(range: IntegerRange): ValueKind<number> {
  const title = `integer, ${range.min} to ${range.max}`;
  return {
    title,
    unit: range.unit,
    read: (raw) => {
      const number = typeof raw === "string" && /^-?\d+$/.test(raw.trim()) ? Number(raw) : raw;
      if (typeof number !== "number" || !Number.isSafeInteger(number)) {
        return problem(`must be a whole number${unitText(range.unit)}, not ${quote(raw)}`);
      }
      if (number < range.min || number > range.max) {
        return problem(`must be between ${range.min} and ${range.max}${unitText(range.unit)}, not ${number}`);
      }
      return { kind: "value", value: number };
    },
    show: String,
  };
}

/** An optional whole number. */
export function optionalInteger(range: IntegerRange): ValueKind<number | null> {
  return { ...integer(range), show: (value) => (value === null ? "" : String(value)) };
}

/** A whole number in a range. `auto` is also accepted and read as null. */
export function integerOrAuto(range: IntegerRange): ValueKind<number | null> {
  const number = integer(range);
  return {
    title: `\`auto\` or ${number.title}`,
    unit: number.unit,
    read: (raw) =>
      String(raw).trim().toLowerCase() === "auto" ? { kind: "value", value: null } : number.read(raw),
    show: (value) => (value === null ? "auto" : String(value)),
  };
}

const truthy = new Set(["true", "1", "yes", "on"]);
const falsy = new Set(["false", "0", "no", "off"]);

/** `true`, `1`, `yes`, `on` and their opposites, in any letter case. */
export const flag: ValueKind<boolean> = {
  title: "boolean",
  unit: null,
  read: (raw) => {
    const word = typeof raw === "boolean" || typeof raw === "string" ? String(raw).trim().toLowerCase() : "";
    if (truthy.has(word)) return { kind: "value", value: true };
    if (falsy.has(word)) return { kind: "value", value: false };
    return problem(`must be true or false, not ${quote(raw)}`);
  },
  show: String,
};

/** One of several words. */
export function oneOf<const Word extends string>(words: readonly Word[]): ValueKind<Word> {
  return {
    title: words.map((word) => `\`${word}\``).join(", "),
    unit: null,
    read: (raw) => {
      const found = words.find((word) => word === String(raw).trim().toLowerCase());
      return found === undefined
        ? problem(`must be one of ${words.join(", ")}, not ${quote(raw)}`)
        : valid(found);
    },
    show: (word) => word,
  };
}

/**
 * Several strings, separated by commas or given as a list in YAML. Each one is checked separately, so that an error can
 * name the entry.
 */
function listOf<Entry extends string>(
  title: string,
  problemOf: (text: string) => string | null,
): ValueKind<readonly Entry[]> {
  return {
    title: `list of ${title}, separated by commas`,
    unit: null,
    read: (raw) => {
      const entries = Array.isArray(raw) ? raw.map(String) : String(raw).split(",");
      const texts = entries.map((one) => one.trim()).filter((one) => one !== "");
      for (const one of texts) {
        const wrong = problemOf(one);
        if (wrong !== null) return problem(wrong);
      }
      return valid(texts as Entry[]);
    },
    show: (entries) => entries.join(","),
  };
}

function readText(raw: unknown): Reading<string> {
  if (typeof raw !== "string" && typeof raw !== "number") return problem(`must be text, not ${quote(raw)}`);
  const given = String(raw);
  return /\p{Cc}/u.test(given) ? problem("must not contain control characters or line breaks") : valid(given);
}

function valid<Value>(given: Value): Reading<Value> {
  return { kind: "value", value: given };
}

function problem(sentence: string): { readonly kind: "problem"; readonly problem: string } {
  return { kind: "problem", problem: sentence };
}

function unitText(unit: string | null): string {
  return unit === null ? "" : ` (${unit})`;
}

function quote(raw: unknown): string {
  const shown = typeof raw === "string" ? raw : (JSON.stringify(raw) ?? String(raw));
  return `"${shown.length > 40 ? `${shown.slice(0, 40)}…` : shown}"`;
}

/** Roles that a process can have. */
export const roles = ["api", "scheduler", "worker", "gateway"] as const;
/** A role of one process in a deployment. */
export type Role = (typeof roles)[number];

/** A name, or a prefix of names in a shared namespace. */
export const shortName: ValueKind<string> = {
  ...text,
  title: "name",
  read: (raw) =>
    /^[a-z0-9][a-z0-9_-]{0,62}$/.test(String(raw))
      ? valid(String(raw))
      : problem("must have 1 to 63 characters of a to z, 0 to 9, - and _"),
};

/** CIDR blocks, such as `10.0.0.0/8`. */
export const cidr = listOf<string>("CIDR blocks", (block) => {
  try {
    createAddressPolicy([block], false);
    return null;
  } catch (error) {
    if (error instanceof InvalidCidrError) return error.message;
    throw error;
  }
});

/** The roles of one process. */
export const roleList = listOf<Role>("`api`, `scheduler`, `worker`, `gateway`", (word) =>
  (roles as readonly string[]).includes(word) ? null : `must contain only ${roles.join(", ")}, not "${word}"`,
);

/** Any text is accepted here; the code that uses the keys checks their format. */
export const secretList = listOf<string>("keys", () => null);

/** Exact origins. An origin with another port or scheme is a different origin. */
export const portalOrigins = listOf<string>("origins", (word) => {
  const url = URL.parse(word);
  const isSecure = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopbackHost(url.hostname));
  return isSecure && url?.origin === word ? null : "must contain origins such as https://app.example.com";
});

/** Public URL of this server. It has no trailing slash, because paths are appended. */
export const publicUrl: ValueKind<string | null> = {
  ...optionalText,
  title: "URL",
  read: (raw) => {
    const url = URL.parse(String(raw));
    const fits = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
    return fits && url.search === "" && url.hash === ""
      ? { kind: "value", value: url.href.replace(/\/+$/, "") }
      : problem("must be a URL such as https://hooks.example.com, without a query");
  },
};

/** Name of an HTTP header. */
export const optionalHeaderName: ValueKind<string | null> = {
  ...optionalText,
  title: "header",
  read: (raw) =>
    /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/.test(String(raw))
      ? valid(String(raw))
      : problem("must be the name of a header such as Client-Cert"),
};

/** Path prefix under which a proxy serves this server; empty for none. */
export const basePath: ValueKind<string> = {
  ...text,
  title: "path",
  read: (raw) => {
    const path = String(raw).replace(/\/+$/, "");
    return path === "" || /^(\/[\w.~-]+)+$/.test(path)
      ? { kind: "value", value: path }
      : problem("must be a path such as /hooks");
  },
};

/** A DNS name of at least two labels. */
const dnsName = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/i;

/** The name by which a CloudEvents handshake identifies the sender. */
export const originName: ValueKind<string | null> = {
  ...optionalText,
  title: "DNS name",
  read: (raw) =>
    dnsName.test(String(raw)) ? valid(String(raw)) : problem("must be a DNS name such as events.example.com"),
};

/** Checks that credentials in a URL are percent-encoded. The problem does not quote them. */
function credentialsProblem(url: URL): ReturnType<typeof problem> | null {
  // An unencoded `/`, `?` or `#` in a password ends the credentials early.
  const isCut = /@/.test(url.pathname + url.search + url.hash);
  if (!isCut && isDecodable(url.username) && isDecodable(url.password)) return null;
  return problem(
    "has special characters in user or password that must be percent-encoded: write %25 for %, %40 for @, %2F for /, " +
      "%3F for ? and %23 for #",
  );
}

/** May contain credentials, so it is never shown. */
function serverUrl(protocols: RegExp, example: string): ValueKind<string | null> {
  return {
    ...optionalText,
    title: "URL",
    problemsHideValue: true,
    read: (raw) => {
      const url = URL.parse(String(raw));
      if (url === null || !protocols.test(url.protocol) || url.hostname === "")
        return problem(`must be a URL such as ${example}`);
      return credentialsProblem(url) ?? valid(String(raw));
    },
  };
}

/** A proxy for outgoing requests. */
export const proxyUrl = serverUrl(/^https?:$/, "http://user:password@proxy.example:3128");

/** A mail server. */
export const smtpUrl = serverUrl(/^smtps?:$/, "smtps://user:password@mail.example.com");

/** API calls per minute. */
export const callsPerMinute: ValueKind<number> = {
  ...integer({ min: 0, max: 1_000_000, unit: "calls" }),
  title: "integer, 0 to 1000000, or `none`",
  read: (raw) =>
    raw === "none"
      ? { kind: "value", value: 0 }
      : integer({ min: 0, max: 1_000_000, unit: "calls" }).read(raw),
};

/** Used by retention settings. */
export const days = integer({ min: 1, max: 3_650, unit: "days" });
/** Used by most durations. */
export const milliseconds = (min: number, max: number): ValueKind<number> =>
  integer({ min, max, unit: "ms" });
