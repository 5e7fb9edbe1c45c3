import { createHash } from "node:crypto";
import { PosthornError } from "../domain/errors.ts";
import { type KeyMalformedReason, parseKeyHeader } from "../domain/http/idempotency-key.ts";
import { type Clock, Loop } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import { type SecretBox, SecretUnreadableError } from "../ports/secret-box.ts";
import { StoreUnavailableError } from "../ports/store.ts";
import type { ClaimedKey, IdempotencyState, IdempotencyStore } from "../ports/store/idempotency.ts";
import type { Logger } from "../ports/telemetry.ts";
import { keyOutstandingError, keyReusedError, type Rendered } from "./problems.ts";

/** How long a completed response is kept. Published in /docs/idempotency (IDK-7, IDK-13). */
export const answerKeptMs = 24 * 3_600_000;
/**
 * A claim is renewed while its call runs. If it is not renewed for this long, its process is considered dead and the
 * key can be claimed again.
 */
export const claimKeptMs = 10_000;
const renewMs = 3_000;
/** Retry interval for writes that failed. */
const settleMs = 500;
/** If there are more than this, the oldest claims are left to expire. Many calls may be affected by one outage. */
const unsettledMax = 10_000;

/** Outcome of a call: its response, or null if the call had no effect. */
type End = { readonly status: number; readonly body: string } | null;

/** An outcome that is not stored yet. */
interface Unsettled {
  readonly claim: ClaimedKey;
  readonly end: End;
}

/**
 * The claims of this process's calls. A claim is renewed while its call runs, and its outcome is written to the store
 * until that succeeds. Thus, a key is blocked only as long as a call is running, and neither an outage nor a crash
 * leaves it blocked.
 */
export class IdempotencyClaims {
  readonly #store: IdempotencyStore;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #process: string;
  #calls = 0;
  /** Start time of the call, keyed by claim. */
  readonly #running = new Map<ClaimedKey, number>();
  readonly #unsettled = new Set<Unsettled>();
  #settling: Promise<void> | null = null;
  readonly #loop: Loop;

  constructor(store: IdempotencyStore, clock: Clock, random: Pick<Random, "bytes">, log: Logger) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#loop = new Loop({
      clock,
      round: () => this.#round(),
      failed: (error) =>
        this.#log.debug({ err: String(error) }, "failed to renew claims of idempotent requests"),
    });
    this.#process = Buffer.from(random.bytes(processBytes)).toString("base64url");
  }

  /** Claims the key for a call, which must then `end` the claim. If the key cannot be claimed, returns its state. */
  async begin(
    call: Pick<IdempotentRequest, "scope" | "key" | "fingerprint">,
  ): Promise<ClaimedKey | Exclude<IdempotencyState, { kind: "claimed" }>> {
    // An outage may have left the outcome of the first call unstored. Store it before its repeat claims the key.
    if (this.#isUnsettled(call)) await this.#settle();
    const { scope, key, fingerprint } = call;
    const claim = { scope, key, claimToken: `${this.#process}.${++this.#calls}` };
    const now = this.#clock.now();
    let state: IdempotencyState;
    try {
      state = await this.#store.begin({
        ...claim,
        fingerprint,
        now,
        claimUntil: now + claimKeptMs,
        expiresAt: now + answerKeptMs,
      });
    } catch (error) {
      // The claim may have been written even though the response was lost.
      this.#leave({ claim, end: null });
      throw error;
    }
    if (state.kind !== "claimed") return state;
    this.#running.set(claim, this.#clock.monotonicMs());
    this.#wake();
    return claim;
  }

  /** Never rejects: the operation is done, and the caller needs the response more than the record of it. */
  async end(claim: ClaimedKey, end: End): Promise<void> {
    this.#running.delete(claim);
    const unsettled = { claim, end };
    try {
      await this.#write(unsettled);
    } catch (error) {
      this.#log.warn(
        { scope: claim.scope, err: String(error) },
        "failed to store the response of an idempotent request; will retry",
      );
      this.#leave(unsettled);
    }
  }

  /** Tries once more to write outstanding outcomes. Claims whose outcome cannot be written expire. */
  async close(): Promise<void> {
    await this.#loop.stop();
    await this.#settle().catch(() => undefined);
  }

  #isUnsettled({ scope, key }: Pick<ClaimedKey, "scope" | "key">): boolean {
    for (const { claim } of this.#unsettled) if (claim.key === key && claim.scope === scope) return true;
    return false;
  }

  #leave(unsettled: Unsettled): void {
    this.#unsettled.add(unsettled);
    const [oldest] = this.#unsettled;
    if (this.#unsettled.size > unsettledMax && oldest !== undefined) this.#unsettled.delete(oldest);
    this.#wake();
  }

  #write({ claim, end }: Unsettled): Promise<void> {
    return end === null ? this.#store.abandon(claim) : this.#store.finish({ ...claim, ...end });
  }

  /**
   * Writes outstanding outcomes sequentially; concurrent callers share the same run. Rejects if the store cannot write.
   */
  #settle(): Promise<void> {
    this.#settling ??= this.#settleAll().finally(() => {
      this.#settling = null;
    });
    return this.#settling;
  }

  async #settleAll(): Promise<void> {
    for (const unsettled of this.#unsettled) {
      try {
        await this.#write(unsettled);
      } catch (error) {
        if (error instanceof StoreUnavailableError) throw error;
        this.#log.error({ err: String(error) }, "the store rejected the response of an idempotent request");
      }
      this.#unsettled.delete(unsettled);
    }
  }

  #wake(): void {
    if (this.#running.size + this.#unsettled.size === 0) return;
    this.#loop.soon(this.#unsettled.size > 0 ? settleMs : renewMs);
  }

  async #round(): Promise<void> {
    try {
      await this.#settle();
      await this.#renew();
    } finally {
      this.#wake();
    }
  }

  /**
   * Renews the claims of running calls. Skips recent claims: most of their time remains, and nearly all calls end
   * within it.
   */
  async #renew(): Promise<void> {
    const since = this.#clock.monotonicMs() - renewMs / 2;
    const claims = [...this.#running].filter(([, begun]) => begun <= since).map(([claim]) => claim);
    if (claims.length > 0) await this.#store.renew(claims, this.#clock.now() + claimKeptMs);
  }
}

const processBytes = 12;

// `Idempotency-Key` on every POST (IDK-13 to IDK-30). A key belongs to the API key and the route with which it was
// sent. The first request is executed. A repeat gets the response of the first request, 409 while the first request is
// running, or 422 if it is a different request.

interface IdempotentRequest {
  /** Identifies the API key and the route. */
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

/** Runs `produce` once per key. `produce` never rejects, because errors are rendered as problem documents. */
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
 * Whether the response is stored. A response that a retry could change is not stored: server errors, temporary
 * conflicts and rate limits.
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
    return JSON.parse(secretBox.open(ciphertext, context)) as Packed;
  } catch (error) {
    if (!(error instanceof SecretUnreadableError)) throw error;
    throw new PosthornError(
      "conflict",
      "The request was carried out, but its response was encrypted with a key that is no longer available.",
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
  const parsed = parseKeyHeader(typeof header === "string" ? header : header.join(", "), true);
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
