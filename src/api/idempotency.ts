/**
 * `Idempotency-Key` on every POST (IDK-13 to 30). A key belongs to the API key and the route it was sent with. The
 * first request runs. A repeat gets the response of the first, 409 while that is running, or 422 if it is a different
 * request.
 */
import { createHash } from "node:crypto";
import { PosthornError } from "../core/errors.ts";
import { parseKeyHeader } from "../core/http/idempotency-key.ts";
import type { KeyMalformedReason } from "../core/http/idempotency-key.ts";
import { SecretUnreadableError } from "../ports/secret-box.ts";
import type { SecretBox } from "../ports/secret-box.ts";
import type { ClaimedKey } from "../ports/store/idempotency.ts";
import type { Logger } from "../ports/telemetry.ts";
import type { IdempotencyClaims } from "./idempotency-claims.ts";
import { keyOutstandingError, keyReusedError } from "./problems.ts";
import type { Rendered } from "./problems.ts";

export interface IdempotentRequest {
  /** API key and route. */
  readonly scope: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly answerIsSecret: boolean;
}

export interface IdempotencyDependencies {
  readonly claims: IdempotencyClaims;
  readonly secretBox: SecretBox;
  readonly log: Logger;
}

/** Runs `produce` once per key. `produce` never rejects: errors are rendered as problems. */
export async function runOnce(
  request: IdempotentRequest,
  produce: () => Promise<Rendered>,
  dependencies: IdempotencyDependencies,
): Promise<Rendered> {
  const begun = await dependencies.claims.begin(request);
  if (!("kind" in begun)) return settle(await produce(), begun, request, dependencies);
  if (begun.kind === "running") throw keyOutstandingError();
  if (begun.kind === "mismatch") throw keyReusedError();
  return replay(begun.status, begun.body, request, dependencies);
}

/**
 * Whether the response is kept. One that a retry could change is not: server errors, temporary conflicts and rate
 * limits.
 */
function isLasting(status: number): boolean {
  return status < 500 && status !== 409 && status !== 429;
}

async function settle(
  answer: Rendered,
  claim: ClaimedKey,
  request: IdempotentRequest,
  { claims, secretBox }: IdempotencyDependencies,
): Promise<Rendered> {
  if (!isLasting(answer.status)) await claims.end(claim, null);
  else {
    const body = pack(answer, {
      secretBox: request.answerIsSecret ? secretBox : null,
      context: contextOf(request),
    });
    await claims.end(claim, { status: answer.status, body });
  }
  return answer;
}

function replay(
  status: number,
  body: string,
  request: IdempotentRequest,
  { secretBox }: IdempotencyDependencies,
): Rendered {
  const { headers, text } = unpack(body, { secretBox, context: contextOf(request) });
  return { status, headers: { ...headers, "idempotency-replayed": "true" }, text };
}

function contextOf(request: IdempotentRequest): string {
  return `idempotency:${request.scope}:${request.key}`;
}

interface Packing {
  /** Null stores the response unencrypted. */
  readonly secretBox: SecretBox | null;
  readonly context: string;
}

interface Packed {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

const sealedPrefix = "sealed:";

function pack({ headers, text }: Rendered, { secretBox, context }: Packing): string {
  const plaintext = JSON.stringify({ headers, text } satisfies Packed);
  if (secretBox === null) return plaintext;
  return sealedPrefix + Buffer.from(secretBox.seal(plaintext, context)).toString("base64");
}

function unpack(body: string, { secretBox, context }: Packing & { readonly secretBox: SecretBox }): Packed {
  if (!body.startsWith(sealedPrefix)) return JSON.parse(body) as Packed;
  const ciphertext = Buffer.from(body.slice(sealedPrefix.length), "base64");
  try {
    return JSON.parse(secretBox.open({ ciphertext, context })) as Packed;
  } catch (error) {
    if (!(error instanceof SecretUnreadableError)) throw error;
    throw new PosthornError(
      "conflict",
      "The request was carried out, but its response was sealed with a key that is no longer available.",
    );
  }
}

/**
 * SHA-256 of the request. Headers differ between repeats and are ignored (IDK-9), except the media type of a body that
 * is not self-describing.
 */
export function fingerprintOf(
  method: string,
  /** Path and query. */ url: string,
  mediaType: string | null,
  body: Uint8Array,
): string {
  const head = mediaType === null ? `${method} ${url}\n` : `${method} ${url}\n${mediaType}\n`;
  return createHash("sha256").update(head).update(body).digest("hex");
}

/** The key in the header, validated in full before it is looked up (IDK-29). Throws `idempotency_key_malformed`. */
export function readIdempotencyKey(header: string | readonly string[]): string {
  // Node joins a repeated header with commas, which the strict form refuses as trailing characters.
  const parsed = parseKeyHeader(typeof header === "string" ? header : header.join(", "), { lenient: true });
  if (parsed.kind === "ok") return parsed.key;
  const message = keyProblems[parsed.reason];
  throw new PosthornError("idempotency_key_malformed", `Idempotency-Key ${message}.`, {
    fields: [{ field: "Idempotency-Key", message }],
  });
}

const keyProblems: Readonly<Record<KeyMalformedReason, string>> = {
  empty: "must not be empty",
  too_long: "must have at most 255 characters",
  not_a_string: 'must be a quoted string such as "8e03978e-40d5-43e8-bc93-6894a57f9324"',
  bad_character: "must contain only printable ASCII characters",
  bad_escape: 'may escape only " and \\',
  unterminated: "must end with a quote",
  bad_parameters: "has invalid parameters",
  trailing_characters: "must be a single quoted string and nothing after it",
};
