import { hash, randomUUID } from "node:crypto";
import { Places, type PlacesLimits } from "../../domain/sender-places.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Answered, Closed, Judged } from "../../engine/forward/forwarder.ts";
import type { Clock } from "../../ports/clock.ts";
import type { AnswerClaim, AnswerOutcome, ForwardNote, GatewayStore } from "../../ports/store/gateway.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { responseBodyBytesMaxAllowed } from "../../ports/transport.ts";
import { deserializeStored, serializeStored, type StoredAnswer } from "../../receiver/answers.ts";
import { ReceiverError } from "../../receiver/receiver-error.ts";
import type { Delivered } from "./deliverer.ts";
import { type InboundAnswer, hopProblem, refusal } from "./gateway-services.ts";
import { type Authentic, claimMsOf, placeOf, type Routed } from "./incoming.ts";
import { loggedError } from "./limited-log.ts";
import { type Connection, type Source, upstreamStatus } from "./source.ts";

export interface PassThroughOptions {
  readonly access: Pick<EngineAccess, "gateway" | "waitingSlots">;
  readonly store: Pick<GatewayStore, "answers">;
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, "log" | "metrics">;
  /** Per source. */
  readonly limits: PlacesLimits;
}

/** The response of one webhook, or why it was not called. */
interface Outcome {
  readonly connection: Connection;
  readonly answer: StoredAnswer;
  readonly isAccepted: boolean;
  readonly isRepeat: boolean;
  readonly eventId: string | null;
  readonly retryAfterSeconds: number | null;
  readonly detail: string;
}

/** Retry-After for senders if the wait is unknown. */
const unknownWaitSeconds = 60;
/** Time reserved for responding to the sender if a webhook uses its whole timeout. */
const marginMs = 500;

/** Delivers while the sender waits, and responds with success only after the webhooks accepted (EDS-9.7-7). */
export class PassThrough {
  readonly #options: PassThroughOptions;
  readonly #places: Places;

  constructor(options: PassThroughOptions) {
    this.#options = options;
    this.#places = new Places(options.limits, options.access.waitingSlots);
  }

  /** Number of requests that are currently waiting for a webhook. */
  get inFlight(): number {
    return this.#places.total;
  }

  async pass(authentic: Authentic, ways: Routed & { readonly isConnected: boolean }): Promise<Delivered> {
    const { open, held, ignored, isConnected } = ways;
    const { source } = authentic.incoming;
    const nothing = { eventId: null, forwards: ignored };
    if (!isConnected) {
      const answer = hopProblem(503, "This source has no connection.", { retryAfterSeconds: 60 });
      return { ...nothing, answer, outcome: "failed" };
    }
    if (held.length > 0) {
      const answer = hopProblem(503, "A connection is paused.", { retryAfterSeconds: 60 });
      return { ...nothing, answer, outcome: "failed" };
    }
    if (open.length === 0)
      return { ...nothing, answer: { status: 202, headers: {}, body: "" }, outcome: "ignored" };
    const { clock } = this.#options;
    const { id, tenantId } = source;
    const now = clock.monotonicMs();
    const bytes = authentic.incoming.request.body.length * open.length;
    const free = this.#places.take({ tenantId, key: id }, bytes, now);
    if (free === null) {
      const answer = hopProblem(503, "Too many messages wait for their destinations.", {
        retryAfterSeconds: this.#places.returnsInMs(id, now) / 1_000,
      });
      return { ...nothing, answer, outcome: "failed" };
    }
    try {
      const outcomes = await Promise.all(open.map((connection) => this.#passOnce(authentic, connection)));
      return this.#delivered(outcomes, ignored);
    } catch (error) {
      if (!(error instanceof ReceiverError)) throw error;
      return { ...nothing, ...this.#refused(authentic, error) };
    } finally {
      free(clock.monotonicMs());
    }
  }

  /** If the sender repeats the message, webhooks that accepted it are not called again; the others are called again. */
  async #passOnce(authentic: Authentic, connection: Connection): Promise<Outcome> {
    const { answers } = this.#options.store;
    const claim = this.#claimOf(authentic, connection);
    const claimed = await answers.claim(claim).catch(unavailable);
    if (claimed.kind !== "claimed") return repeated(claimed, connection);
    let outcome: Outcome;
    try {
      outcome = await this.#ask(authentic, connection, claim);
    } catch (error) {
      await this.#free(claim);
      throw error;
    }
    // Release the claim, so that a repeat is processed again.
    if (!outcome.isAccepted) await this.#free(claim);
    return outcome;
  }

  #claimOf({ key, incoming, bodyDigest }: Authentic, connection: Connection): AnswerClaim {
    const now = this.#options.clock.now();
    return {
      key: hash("sha256", `${key} ${connection.id}`),
      fingerprint: bodyDigest(),
      token: randomUUID(),
      now,
      expiresAt: now + claimMsOf(incoming.source),
    };
  }

  async #free(claim: AnswerClaim): Promise<void> {
    try {
      await this.#options.store.answers.release(claim.key, claim.token);
    } catch (error) {
      this.#options.telemetry.log.warn(
        { err: loggedError(error) },
        "releasing a gateway claim failed; it stays until it expires",
      );
    }
  }

  async #ask(authentic: Authentic, connection: Connection, claim: AnswerClaim): Promise<Outcome> {
    const { incoming, eventType, contentType } = authentic;
    const { source, request } = incoming;
    const spentMs = this.#options.clock.now() - incoming.receivedAt;
    const forwarded = await this.#options.access.gateway.forward({
      webhookId: connection.webhookId,
      tenantId: source.tenantId,
      eventType,
      contentType,
      body: request.body,
      source: source.name,
      relayed: withOwnKey(authentic),
      timeoutMs: Math.max(1, source.budgetMs - Math.max(0, spentMs) - marginMs),
      retries: source.retriesWithinBudget,
      judge: (answered) => this.#judged(answered, connection, source, claim),
    });
    return forwarded.kind === "answered" ? forwarded.judged : notAsked(forwarded, connection);
  }

  #judged(
    { verdict, result, eventId }: Answered,
    connection: Connection,
    source: Source,
    claim: AnswerClaim,
  ): Outcome & Judged {
    const { observation, responseSample } = result;
    const isOversized = (responseSample?.length ?? 0) >= responseBodyBytesMaxAllowed;
    const isWhole = observation.kind === "response" && observation.complete && !isOversized;
    // A profile may accept a truncated response based on its status, but it must not be reported as a success to a
    // waiting sender.
    const isAccepted = verdict.outcome === "accepted" && isWhole;
    const status = upstreamStatus({ observation, isAccepted, isOversized }, source.statusOverrides);
    const body = isAccepted ? responseSample : null;
    const kind = result.fields["content-type"];
    const answer: StoredAnswer = {
      status,
      ...(body !== null &&
        body.length > 0 && {
          base64: Buffer.from(body).toString("base64"),
          contentType: kind ?? "application/octet-stream",
        }),
    };
    const detail = observation.kind === "response" ? String(observation.status) : verdict.reason;
    const now = this.#options.clock.now();
    const keeps = { ...claim, now, expiresAt: now + source.dedupWindowMs, result: serializeStored(answer) };
    return {
      connection,
      answer,
      isAccepted,
      isRepeat: false,
      eventId,
      retryAfterSeconds: null,
      detail,
      keeps: isAccepted ? keeps : null,
    };
  }

  /**
   * The first required webhook that did not accept determines the response; if all accepted, the first required one
   * does.
   */
  #delivered(outcomes: readonly Outcome[], ignored: readonly ForwardNote[]): Delivered {
    const required = outcomes.filter(({ connection }) => connection.required);
    const counted = required.length > 0 ? required : outcomes;
    const failed = counted.find(({ isAccepted }) => !isAccepted);
    const forwards: ForwardNote[] = [
      ...outcomes.map(({ connection, isAccepted, detail }) => ({
        ...placeOf(connection),
        result: isAccepted ? ("accepted" as const) : ("failed" as const),
        detail,
      })),
      ...ignored,
    ];
    const eventId = outcomes.find((one) => one.eventId !== null)?.eventId ?? null;
    if (failed !== undefined) return { answer: problemOf(failed), outcome: "failed", forwards, eventId };
    const [first] = counted;
    const outcome = outcomes.every(({ isRepeat }) => isRepeat) ? "duplicate" : "accepted";
    const answer = first === undefined ? { status: 202, headers: {}, body: "" } : plain(first.answer);
    return { answer, outcome, forwards, eventId };
  }

  #refused({ incoming }: Authentic, error: ReceiverError): Pick<Delivered, "answer" | "outcome"> {
    if (error.code === "idempotency_key_reused") {
      const { id: sourceId, tenantId } = incoming.source;
      const { log, metrics } = this.#options.telemetry;
      log.warn({ sourceId, tenantId, incident: "key_reused" }, "a known key was used with a different body");
      metrics.gatewayIncident?.("key_reused");
      return { answer: refusal(error.code, error.message), outcome: "rejected" };
    }
    const outcome = error.code === "idempotency_key_in_progress" ? "duplicate" : "failed";
    return { answer: refusal(error.code, error.message), outcome };
  }
}

/** Throws an error after which the sender may retry, because nothing was sent. */
function unavailable(cause: unknown): never {
  throw new ReceiverError("store_unavailable", "The message cannot be recorded now.", { cause });
}

function notAsked({ why, waitMs }: Closed, connection: Connection): Outcome {
  // The receiver's Retry-After applies to this hop only (EDS-9.7-3).
  const isOwnWait = waitMs !== null && why !== "retry_after";
  const retryAfterSeconds = isOwnWait ? Math.max(1, waitMs / 1_000) : unknownWaitSeconds;
  return {
    connection,
    isRepeat: false,
    eventId: null,
    isAccepted: false,
    retryAfterSeconds,
    detail: why,
    answer: { status: 503, retryAfterSeconds },
  };
}

function repeated(
  claimed: Exclude<AnswerOutcome, { readonly kind: "claimed" }>,
  connection: Connection,
): Outcome {
  if (claimed.kind === "running")
    throw new ReceiverError(
      "idempotency_key_in_progress",
      "A request with the same key is being processed.",
      { retryAfterSeconds: 1 },
    );
  if (claimed.kind === "mismatch")
    throw new ReceiverError("idempotency_key_reused", "The key was used for a different message.");
  const answer = deserializeStored(claimed.result);
  return {
    connection,
    answer,
    isRepeat: true,
    isAccepted: answer.status < 300,
    eventId: null,
    retryAfterSeconds: null,
    detail: `${answer.status}, as in an earlier response`,
  };
}

/** Adds a generated key to a message without a key. The key is the same for repeats of the message. */
function withOwnKey({ relayed, key }: Authentic): Authentic["relayed"] {
  const digest = hash("sha256", key);
  const own = `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
  return { ...relayed, key: relayed.key ?? `"${own}"`, webhookId: relayed.webhookId ?? own };
}

function plain({ status, base64, text, contentType }: StoredAnswer): InboundAnswer {
  const hasBody = status !== 204 && status !== 205 && (base64 ?? text) !== undefined;
  const body = base64 === undefined ? (text ?? "") : Buffer.from(base64, "base64");
  const headers = { "x-content-type-options": "nosniff", "content-type": contentType ?? "text/plain" };
  return hasBody ? { status, headers, body } : { status, headers: {}, body: "" };
}

function problemOf({ answer, detail, retryAfterSeconds }: Outcome): InboundAnswer {
  const status = Number(detail);
  const members = Number.isInteger(status) ? { downstream_status: status } : { reason: detail };
  const what = Number.isInteger(status)
    ? "The destination did not accept the message."
    : "The message did not reach its destination.";
  // Only the gateway's own state determines Retry-After (EDS-9.7-3).
  const more = retryAfterSeconds === null ? {} : { retryAfterSeconds };
  return hopProblem(answer.status, what, { ...more, members });
}
