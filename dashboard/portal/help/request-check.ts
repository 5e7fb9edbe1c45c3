/**
 * Diagnoses why a signature check fails, from a pasted request (Standard Webhooks, scheme `v1`). Runs in the page:
 * neither the request nor the secret leaves it.
 */
export interface PastedRequest {
  /** Lines such as `webhook-id: …`, as curl and logs show them, or a JSON object. */
  readonly headers: string;
  readonly body: string;
  readonly secret: string;
  /** Signature computed by the customer's code. Empty if unknown. */
  readonly computed: string;
}

/** A `hint` alone does not mean that the check fails. */
export interface Finding {
  readonly part: "headers" | "time" | "secret" | "body" | "signature" | "code";
  readonly state: "passed" | "failed" | "hint";
  /** Selects the message with the key `paste.<what>`. */
  readonly what: string;
  readonly values?: Readonly<Record<string, string | number>>;
}

/** HMAC-SHA-256. */
export type Mac = (key: Uint8Array<ArrayBuffer>, content: string) => Promise<Uint8Array>;

const names = ["id", "timestamp", "signature"] as const;
const toleranceSeconds = 300;

/** Findings in the order of a receiver's checks. The first failed one is the cause. `now` is in Unix milliseconds. */
export async function checkRequest(
  pasted: PastedRequest,
  { mac, now }: { readonly mac: Mac; readonly now: number },
): Promise<readonly Finding[]> {
  const headers = readHeaders(pasted.headers);
  const family = ["webhook", "svix"].find((prefix) => headers.has(`${prefix}-id`)) ?? "webhook";
  const missing = names.map((name) => `${family}-${name}`).filter((name) => !headers.has(name));
  if (missing.length > 0)
    return [
      { part: "headers", state: "failed", what: "headers.missing", values: { names: missing.join(", ") } },
    ];
  const [id = "", timestamp = "", signature = ""] = names.map(
    (name) => headers.get(`${family}-${name}`) ?? "",
  );
  const key = keyOf(pasted.secret);
  const findings: Finding[] = [
    { part: "headers", state: "passed", what: "headers.there" },
    judgedTime(timestamp, now),
    key.finding,
  ];
  const signatures = signature.split(" ").flatMap((one) => (one.startsWith("v1,") ? [one.slice(3)] : []));
  if (signatures.length === 0)
    return [...findings, { part: "signature", state: "failed", what: formOf(signature) }];
  if (key.bytes === null) return findings;
  const message: Message = { id, timestamp, body: pasted.body, signatures, key: key.bytes, mac };
  findings.push(await judgedBody(message, headers.get("content-length") ?? null));
  if (pasted.computed.trim() !== "") findings.push(await judgedCode(message, pasted));
  return findings;
}

interface Message {
  readonly id: string;
  readonly timestamp: string;
  readonly body: string;
  /** Signatures without the prefix `v1,`. */
  readonly signatures: readonly string[];
  readonly key: Uint8Array<ArrayBuffer>;
  readonly mac: Mac;
}

/** Header values, keyed by lower-case name. */
export function readHeaders(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const object = parsed(text) as Readonly<Record<string, unknown>> | undefined;
  if (typeof object === "object" && object !== null && !Array.isArray(object)) {
    for (const [name, value] of Object.entries(object))
      found.set(name.toLowerCase(), String(Array.isArray(value) ? value[0] : value).trim());
    return found;
  }
  for (const line of text.split("\n")) {
    const [, name, value] = /^[\s<>*"']*([\w-]+)["']?\s*[:=]\s*["']?(.*?)["']?,?\s*$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) found.set(name.toLowerCase(), value);
  }
  return found;
}

function judgedTime(timestamp: string, now: number): Finding {
  const part = "time";
  if (!/^\d{1,15}$/.test(timestamp)) return { part, state: "failed", what: "time.form" };
  const seconds = Number(timestamp);
  if (seconds > 100_000_000_000) return { part, state: "failed", what: "time.milliseconds" };
  const age = Math.round(now / 1_000) - seconds;
  if (age < -toleranceSeconds) return { part, state: "failed", what: "time.ahead" };
  if (age > toleranceSeconds)
    return { part, state: "hint", what: "time.old", values: { minutes: Math.round(age / 60) } };
  return { part, state: "passed", what: "time.fits" };
}

function keyOf(given: string): { readonly bytes: Uint8Array<ArrayBuffer> | null; readonly finding: Finding } {
  const failed = (what: string) => ({
    bytes: null,
    finding: { part: "secret", state: "failed", what } as const,
  });
  const secret = given.trim();
  if (secret === "") return failed("secret.absent");
  if (secret.includes("…") || secret.includes("***")) return failed("secret.masked");
  if (/^wh[ps]k_/.test(secret)) return failed("secret.pair");
  const bytes = bytesOf(secret.replace(/^whsec_/, ""));
  if (bytes === null || bytes.length === 0) return failed("secret.form");
  const what = secret.startsWith("whsec_") ? "secret.read" : "secret.prefix";
  const state = what === "secret.read" ? "passed" : "hint";
  return { bytes, finding: { part: "secret", state, what } };
}

function formOf(signature: string): string {
  if (/\bv1a,/.test(signature)) return "signature.pair";
  return /^[0-9a-f]{64}$/i.test(signature.trim()) ? "signature.hex" : "signature.form";
}

/** Checks the signature against the body, and against the body as changed by common programs. */
async function judgedBody(message: Message, contentLength: string | null): Promise<Finding> {
  for (const [what, body] of writingsOf(message.body)) {
    const expected = base64Of(await message.mac(message.key, contentOf({ ...message, body })));
    if (!message.signatures.includes(expected)) continue;
    if (what === "same") return { part: "signature", state: "passed", what: "signature.fits" };
    return { part: "body", state: "failed", what: `body.${what}` };
  }
  const bytes = new TextEncoder().encode(message.body).length;
  if (contentLength !== null && contentLength !== String(bytes))
    return { part: "body", state: "failed", what: "body.length", values: { expected: contentLength, bytes } };
  const what = contentLength === null ? "signature.none" : "signature.secret";
  return { part: contentLength === null ? "signature" : "secret", state: "failed", what };
}

function contentOf({ id, timestamp, body }: Pick<Message, "id" | "timestamp" | "body">): string {
  return `${id}.${timestamp}.${body}`;
}

/** The pasted body, and the variants that programs produce when they parse and serialize it or save it to a file. */
function* writingsOf(body: string): Iterable<readonly [what: string, body: string]> {
  yield ["same", body];
  const trimmed = body.replace(/[\r\n]+$/, "");
  yield ["newline", trimmed];
  yield ["newline", `${trimmed}\n`];
  yield ["newline", trimmed.replaceAll(/\r?\n/g, "\r\n")];
  const value = parsed(body);
  if (value === undefined) return;
  yield ["rewritten", JSON.stringify(value)];
  yield ["rewritten", JSON.stringify(value, null, 2)];
  yield ["rewritten", spaced(value)];
}

/** JSON in Python's format, with a space after commas and colons. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${spaced(member)}`);
  return `{${members.join(", ")}}`;
}

/** Compares the signature that the customer's code computed with the results of common mistakes. */
async function judgedCode(message: Message, { computed, secret }: PastedRequest): Promise<Finding> {
  const given = computed.trim().replace(/^v1,/, "");
  const text = secret.trim();
  const keys: readonly (readonly [string, Uint8Array<ArrayBuffer>])[] = [
    ["", message.key],
    ["code.key", new TextEncoder().encode(text)],
    ["code.key", new TextEncoder().encode(text.replace(/^whsec_/, ""))],
  ];
  const value = parsed(message.body);
  const { id, timestamp, body } = message;
  const contents: readonly (readonly [string, string])[] = [
    ["", contentOf(message)],
    ["code.content", body],
    ["code.content", `${timestamp}.${body}`],
    ["code.content", `${id}.${body}`],
    ...(value === undefined
      ? []
      : [JSON.stringify(value), spaced(value), JSON.stringify(value, null, 2)].map(
          (written) => ["code.rewritten", contentOf({ id, timestamp, body: written })] as const,
        )),
  ];
  for (const [wrongKey, key] of keys) {
    for (const [wrongContent, content] of contents) {
      const made = await message.mac(key, content);
      const isBase64 = plainBase64(given) === plainBase64(base64Of(made));
      if (!isBase64 && given.toLowerCase() !== hexOf(made)) continue;
      const wrong = [wrongKey, wrongContent, isBase64 ? "" : "code.hex"].find((one) => one !== "");
      return wrong === undefined
        ? { part: "code", state: "passed", what: "code.right" }
        : { part: "code", state: "failed", what: wrong };
    }
  }
  return { part: "code", state: "failed", what: "code.unknown" };
}

/** Converts base64 to the standard alphabet without padding. */
function plainBase64(text: string): string {
  return text.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.codePointAt(0) ?? 0);
  } catch {
    return null;
  }
}

function base64Of(bytes: Uint8Array): string {
  return btoa(String.fromCodePoint(...bytes));
}

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
