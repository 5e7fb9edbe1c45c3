import { maskedField, maskedParameters, withoutParameters } from "../../domain/http/request-headers.ts";
import { createBucket, type RateBucket, reconfigureBucket, tryTake } from "../../domain/rate-limit.ts";
import { StepsSpentError } from "../../domain/step-budget.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ReceivedRequest } from "../../ports/store/gateway.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Received, SourceVerifier } from "../../receiver/configured/source-verifier.ts";
import { type RejectionCause, queryOf } from "../../receiver/message/message.ts";
import { ReceiverError } from "../../receiver/receiver-error.ts";
import { type InboundAddress, readAddress } from "./address.ts";
import type { Delivered, Deliverer } from "./deliverer.ts";
import { hopHeader, nextHops } from "./relayed.ts";
import {
  type Inbound,
  type InboundAnswer,
  type InboundFault,
  type InboundHead,
  type InboundRequest,
  hopProblem,
  refusal,
} from "./gateway-services.ts";
import type { GatewayDirectory, VerificationBox } from "./gateway-directory.ts";
import {
  FailedSenders,
  RequestAdmission,
  type RequestKind,
  type SenderLimit,
  answerConsent,
} from "./request-admission.ts";
import { authenticOf, type Incoming, messageOf, readKeyField } from "./incoming.ts";
import { withoutPayload } from "./limited-log.ts";
import type { RequestLog } from "./request-log.ts";
import { hashOfToken } from "./source-service.ts";
import type { Source } from "./source.ts";
import type { SourceProbe } from "../../domain/source-probe.ts";

export interface InboundOptions {
  readonly directory: GatewayDirectory;
  readonly box: VerificationBox;
  readonly access: Pick<EngineAccess, "nextId">;
  readonly deliverer: Deliverer;
  readonly requests: RequestLog;
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, "log" | "metrics">;
  /** Identifies this deployment in `Posthorn-Hop`. */
  readonly deploymentId: string;
}

/** The result of a request, before it is logged. */
interface Ended extends Delivered {
  /** Whether the sender is authenticated. */
  readonly isProven?: boolean;
  readonly cause?: string;
  readonly detail?: string | null;
  readonly scheme?: string;
  readonly eventType?: string;
  readonly originalType?: string | null;
  /** Whether this is a handshake whose sender can be notified later that it may deliver. */
  readonly mayBeConsented?: boolean;
}

/** Handles a request from reading its address to sending its response. */
export class GatewayInbound implements Inbound {
  readonly #options: InboundOptions;
  readonly #buckets = new Map<string, RateBucket>();
  readonly #senders: FailedSenders;
  readonly #admission: RequestAdmission;

  constructor(options: InboundOptions) {
    this.#options = options;
    this.#senders = new FailedSenders(options.clock);
    this.#admission = new RequestAdmission(options.clock);
  }

  /** Refuses requests by source and sender address, so that a flood from one address does not affect other senders. */
  refuse(head: InboundHead): Promise<InboundAnswer | null> | null {
    if (head.method !== "POST" && head.method !== "PUT") return null;
    const address = readAddress(head.url);
    const source = address === null ? undefined : this.#sourceOf(address);
    if (address === null || source === undefined) return null;
    const limit = this.#senders.limit(source.id, head.clientAddress ?? "");
    if (limit === null) return null;
    const { clock, access } = this.#options;
    const request = { ...head, body: new Uint8Array() };
    const incoming: Incoming = {
      id: access.nextId(),
      source,
      address,
      request,
      message: messageOf(request),
      receivedAt: clock.now(),
    };
    return this.#refusedBy(limit, incoming).catch(() => null);
  }

  async #refusedBy(
    { needsProof, isClosed, retryAfterSeconds }: SenderLimit,
    incoming: Incoming,
  ): Promise<InboundAnswer | null> {
    if (!isClosed && !(needsProof && (await this.#lacksProof(incoming)))) return null;
    const answer = refusal("rate_limited", "Too many messages without a valid proof from this address.", {
      retryAfterSeconds,
    });
    const ended = rejected(answer, "too_many_failures", null);
    this.#note(incoming, ended, 0);
    return answer;
  }

  /** Whether the head alone shows that the message cannot be authentic. */
  async #lacksProof({ source, message, receivedAt }: Incoming): Promise<boolean> {
    const verifier = this.#options.box.verifier(source);
    const received = await verifier.receive(message, { nowSeconds: Math.floor(receivedAt / 1_000) });
    return received.kind === "rejected" && isShownByHead(verifier, received.cause);
  }

  async handle(request: InboundRequest): Promise<InboundAnswer> {
    const address = readAddress(request.url);
    const source = address === null ? undefined : this.#sourceOf(address);
    if (address === null || source === undefined)
      return request.fault === undefined ? unknownAddress : faulted(request.fault);
    const { clock, access } = this.#options;
    const startedMs = clock.monotonicMs();
    const elapsedMs = (): number => clock.monotonicMs() - startedMs;
    const body = request.body ?? new Uint8Array();
    const whole = { ...request, body };
    const incoming: Incoming = {
      id: access.nextId(),
      source,
      address,
      request: whole,
      message: messageOf(whole),
      receivedAt: clock.now(),
    };
    let ended: Ended;
    try {
      ended = await this.#steps(incoming, request.body === null, elapsedMs);
    } catch (error) {
      if (error instanceof StepsSpentError) ended = this.#tooManySteps(incoming, error);
      else ended = this.#unexpected(incoming, error);
    }
    ended = { ...ended, answer: keptPrivate(ended.answer, request) };
    this.#note(incoming, ended, elapsedMs());
    return ended.answer;
  }

  /**
   * Refuses the message temporarily: the sender retries, and the request can be replayed once the rules are simpler.
   */
  #tooManySteps({ source, id }: Incoming, { message }: StepsSpentError): Ended {
    const fields = {
      sourceId: source.id,
      tenantId: source.tenantId,
      requestId: id,
      incident: "rules_too_costly",
    };
    this.#options.telemetry.log.warn(fields, "the rules of a source took too many steps for a message");
    this.#options.telemetry.metrics.gatewayIncident?.("rules_too_costly");
    const text = "The rules of this source take too many steps for this message.";
    const answer = hopProblem(503, text, { retryAfterSeconds: 60, members: { reason: "rules_too_costly" } });
    const detail = `${message}; simplify the filters, key pointers or deduplication of the source, then replay it`;
    return {
      answer,
      outcome: "failed",
      forwards: [],
      eventId: null,
      cause: "rules_too_costly",
      detail,
      isProven: true,
    };
  }

  #unexpected({ source, id, request }: Incoming, error: unknown): Ended {
    // The error is written to the server log. Tenants see only the log row of the request, without internal details.
    const fields = {
      // Evaluated only if the line is written.
      get err(): string {
        return withoutPayload(error, request.body);
      },
      sourceId: source.id,
      requestId: id,
    };
    this.#options.telemetry.log.error(fields, "a request of the gateway failed");
    const answer = refusal("store_unavailable", "The message cannot be accepted now.");
    const detail = "The server could not accept it; see the server log.";
    return { answer, outcome: "failed", forwards: [], eventId: null, detail };
  }

  #sourceOf({ token, party }: InboundAddress): Source | undefined {
    const { directory, clock } = this.#options;
    if (token !== null) return directory.sourceByToken(hashOfToken(token), clock.now());
    return party === null ? undefined : directory.sourceByParty(party);
  }

  async #steps(incoming: Incoming, isTooLarge: boolean, elapsedMs: () => number): Promise<Ended> {
    const { source, request, message } = incoming;
    const verifier = this.#options.box.verifier(source);
    const { fault } = request;
    if (fault !== undefined) return rejected(faulted(fault), fault.cause, fault.detail);
    const probed = source.active && !incoming.address.isUnsafe ? answerToProbe(incoming, verifier) : null;
    if (probed !== null) return probed;
    const refused = this.#refusalOf(incoming, verifier, isTooLarge);
    if (refused !== null) return refused;
    if (request.method === "OPTIONS") return asksConsent(incoming);
    const hops = nextHops(message.headers.get(hopHeader), this.#options.deploymentId);
    if (hops.kind === "loop") {
      const detail = "The message has passed this gateway before, or has passed too many gateways.";
      return rejected(hopProblem(508, detail), "loop", detail);
    }
    const field = readKeyField(request.rawHeaders);
    if (field.kind === "malformed")
      return rejected(
        refusal("idempotency_key_malformed", field.detail),
        "idempotency_key_malformed",
        field.detail,
      );
    const nowSeconds = Math.floor(incoming.receivedAt / 1_000);
    const received = await verifier.receive(message, { nowSeconds });
    const clientAddress = request.clientAddress ?? "";
    if (received.kind === "rejected") {
      const token = validationToken(incoming, verifier);
      if (token !== null) return token;
      this.#senders.failed(source.id, clientAddress, !isShownByHead(verifier, received.cause));
      return this.#unauthenticated(incoming, received);
    }
    this.#senders.verified(source.id, clientAddress);
    if (received.kind === "challenge") return challenged(received);
    const waitMs = this.#rateWaitMs(source);
    if (waitMs > 0) {
      const more = { retryAfterSeconds: waitMs / 1_000 };
      const answer = refusal("rate_limited", "This source has reached its rate limit.", more);
      return { ...rejected(answer, "rate_limited", null), isProven: true };
    }
    const authentic = authenticOf(incoming, received, verifier, field, hops.value);
    const { eventType, originalType, scheme } = authentic;
    const known = { eventType, originalType, scheme, isProven: true };
    const delivered = await this.#options.deliverer.deliver(authentic, (stored) => {
      const row = this.#rowOf(incoming, { ...stored, ...known }, elapsedMs());
      this.#admission.charge(row, true);
      return row;
    });
    return { ...delivered, ...known };
  }

  /** Checks whether a request must be refused for a reason that does not depend on the message content. */
  #refusalOf(
    { source, request, address }: Incoming,
    verifier: SourceVerifier,
    isTooLarge: boolean,
  ): Ended | null {
    if (address.isUnsafe) {
      const detail = "The path after the source address could escape the path of a receiver.";
      return rejected(unknownAddress, "unsafe_path", detail);
    }
    if (!source.active) {
      const isGone = source.whenInactive === "gone";
      const answer = isGone
        ? refusal("endpoint_retired", "This source is retired; stop sending to it.")
        : refusal("overloaded", "This source is disabled for now.", { retryAfterSeconds: 60 });
      return rejected(answer, "source_inactive", null);
    }
    const probes = probesOf(source, verifier);
    const methods = [
      ...new Set([
        "POST",
        ...(source.allowPut ? ["PUT"] : []),
        ...verifier.methods,
        ...(probes.has("head") ? ["HEAD"] : []),
        ...(probes.has("get") ? ["GET"] : []),
      ]),
    ];
    const isHandshake = request.method === "OPTIONS" && source.handshake !== null;
    if (!methods.includes(request.method) && !isHandshake) {
      const headers = { allow: methods.join(", ") };
      const answer = refusal("method_not_allowed", "Send messages with POST.", { headers });
      return rejected(answer, "method_not_allowed", null);
    }
    const bytesMax = source.bodyBytesMax ?? Number.POSITIVE_INFINITY;
    if (isTooLarge || request.body.byteLength > bytesMax) {
      const answer = refusal("payload_too_large", "The body exceeds the limit of this source.");
      return rejected(answer, "payload_too_large", null);
    }
    if (request.method !== "GET" && !isHandshake && request.body.byteLength === 0) {
      const detail = "A message must have a body of at least one byte.";
      return rejected(refusal("invalid_message", detail), "empty_body", detail);
    }
    return null;
  }

  #unauthenticated(
    { source, message }: Incoming,
    { cause, detail }: Extract<Received, { readonly kind: "rejected" }>,
  ): Ended {
    const fields = { sourceId: source.id, tenantId: source.tenantId, cause, incident: "unauthenticated" };
    this.#options.telemetry.log.warn(fields, "a message to the gateway was not authentic");
    this.#options.telemetry.metrics.gatewayIncident?.(cause);
    // The text is the same for every cause, so that it reveals nothing to an attacker who guesses addresses.
    const text = "The message carries no valid proof of its sender.";
    const isToken = cause === "bad_token" && message.headers.get("authorization") !== null;
    const headers: Record<string, string> = isToken ? { "www-authenticate": "Bearer" } : {};
    return rejected(refusal("unauthenticated", text, { headers }), cause, detail);
  }

  #rateWaitMs({ id, rateLimit }: Source): number {
    if (rateLimit === null) return 0;
    let bucket = this.#buckets.get(id);
    if (bucket === undefined) this.#buckets.set(id, (bucket = createBucket(rateLimit)));
    else reconfigureBucket(bucket, rateLimit);
    return tryTake(bucket, this.#options.clock.now());
  }

  #note(incoming: Incoming, ended: Ended, durationMs: number): void {
    const { requests, telemetry } = this.#options;
    const { outcome, isLogged = false } = ended;
    telemetry.metrics.gatewayRequest?.(incoming.source.id, outcome, durationMs);
    if (isLogged) return;
    const kind = kindOf(ended);
    const admitted = this.#admission.admits(incoming.source, kind);
    if (typeof admitted === "string") requests.countMore(admitted);
    if (admitted !== true) return;
    const row = this.#rowOf(incoming, ended, durationMs);
    this.#admission.added(row, kind);
    requests.add(row);
  }

  #rowOf(incoming: Incoming, ended: Ended, durationMs: number): ReceivedRequest {
    const { requests, box } = this.#options;
    const { source, request, receivedAt, message } = incoming;
    const { answer, outcome, forwards, eventId, cause = null, detail = null } = ended;
    const { isProven } = kindOf(ended);
    const isBrief = this.#admission.isBrief(source, isProven);
    // No event was created, but a replay may create one after a secret, a rule or a connection was fixed.
    const isAuthentic = outcome === "ignored" || outcome === "failed";
    const isRejected = outcome === "rejected" && answer.status === 401;
    const mayBecome = isAuthentic || isRejected || ended.mayBeConsented === true;
    const sealed =
      eventId === null && mayBecome && !isBrief ? JSON.stringify({ ...request, body: undefined }) : "";
    const bytes = request.body.byteLength + sealed.length;
    const mayComeBack = sealed !== "" && requests.keepsBody(source.id, bytes, isProven);
    return {
      id: incoming.id,
      tenantId: source.tenantId,
      sourceId: source.id,
      receivedAt,
      method: request.method,
      path: cut(this.#shownPath(incoming), isProven ? pathMax : unprovenPathMax),
      bodyBytes: request.body.byteLength,
      headers: isBrief ? [] : shownHeaders(message.headers, isProven),
      status: answer.status,
      outcome,
      cause,
      detail,
      durationMs,
      scheme: ended.scheme ?? null,
      eventType: ended.eventType ?? null,
      originalType: ended.originalType ?? null,
      eventId,
      forwards,
      sealedHeaders: mayComeBack ? box.seal(source, sealed) : null,
      bookmark: null,
      body: mayComeBack ? request.body : null,
      more: 0,
    };
  }

  /** Masks credentials: the parameters that the verification names, and anything that looks like one. */
  #shownPath({ source, address }: Incoming): string {
    const names = this.#verifierOf(source)?.secretParameters ?? [];
    return maskedParameters(withoutParameters(address.shown, names));
  }

  #verifierOf(source: Source): SourceVerifier | null {
    try {
      return this.#options.box.verifier(source);
    } catch {
      return null;
    }
  }
}

function probesOf({ allowProbes }: Source, { probes }: SourceVerifier): ReadonlySet<SourceProbe> {
  return new Set([...probes, ...allowProbes]);
}

/** Responds to address checks that carry no proof, if provider and source allow this. Such checks are not stored. */
function answerToProbe(incoming: Incoming, verifier: SourceVerifier): Ended | null {
  const { source, request } = incoming;
  const { method, body } = request;
  const probes = probesOf(source, verifier);
  const isLook =
    (method === "HEAD" && probes.has("head")) ||
    // Some providers send a challenge by GET, which is handled elsewhere.
    (method === "GET" && probes.has("get") && !verifier.methods.includes("GET"));
  if (isLook) return challenged({ kind: "challenge", answer: { status: 200, contentType: null, body: "" } });
  return body.byteLength === 0 ? validationToken(incoming, verifier) : null;
}

const validationTokenMax = 4_096;

/** Handles `POST ?validationToken=…` for a message that is not authentic: responds with the decoded token. */
function validationToken({ source, request }: Incoming, verifier: SourceVerifier): Ended | null {
  if (request.method !== "POST" || !probesOf(source, verifier).has("validation_token")) return null;
  const [token = "", ...others] = queryOf(request.url).getAll("validationToken");
  if (others.length > 0 || token.length > validationTokenMax || !/^[^\p{Cc}]+$/u.test(token)) return null;
  const answer = { status: 200, contentType: "text/plain; charset=utf-8", body: token } as const;
  return challenged({ kind: "challenge", answer });
}

/** The key under which the log counts requests that get no row. */
function kindOf({ outcome, cause, isProven = false }: Ended): RequestKind {
  return { outcome, cause: cause ?? null, isProven };
}

const pathMax = 8_192;
const unprovenPathMax = 512;
const unprovenFields = { count: 32, nameLength: 64, valueLength: 256, length: 3_072 };

/** The masked headers. A request without proof keeps only enough headers to help identify its sender. */
function shownHeaders(headers: Iterable<readonly [string, string]>, isProven: boolean): readonly string[] {
  const all = [...headers];
  if (isProven) return all.flatMap(([name, value]) => [name, maskedField(name, value)]);
  const shown: string[] = [];
  let length = 0;
  for (const [name, value] of all.slice(0, unprovenFields.count)) {
    const field = [
      cut(name, unprovenFields.nameLength),
      cut(maskedField(name, value), unprovenFields.valueLength),
    ];
    length += field.join("").length;
    if (length > unprovenFields.length) break;
    shown.push(...field);
  }
  return shown;
}

function cut(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax)}…`;
}

const headCauses: ReadonlySet<string> = new Set([
  "missing_header",
  "malformed_header",
  "bad_message_id",
  "bad_timestamp",
  "too_old",
  "too_new",
  "unknown_key",
  "bad_token",
] satisfies readonly RejectionCause[]);

/**
 * Whether the head alone proves this cause. A composite verifier reports the cause of one of its parts; another part
 * might have found its proof in the body.
 */
function isShownByHead({ type }: SourceVerifier, cause: string): boolean {
  return type !== "any_of" && type !== "all_of" && headCauses.has(cause);
}

const unknownAddress = refusal("not_found", "No source exists at this address.");

function faulted({ status, detail, retryAfterSeconds }: InboundFault): InboundAnswer {
  return hopProblem(status, detail, retryAfterSeconds === null ? {} : { retryAfterSeconds });
}

function rejected(answer: InboundAnswer, cause: string, detail: string | null): Ended {
  return { answer, outcome: "rejected", forwards: [], eventId: null, cause, detail };
}

async function asksConsent({ message, source }: Incoming): Promise<Ended> {
  try {
    const { answer, detail, callbackUrl } = await answerConsent(message, source);
    const mayBeConsented = callbackUrl !== null;
    return { answer, outcome: "challenge", forwards: [], eventId: null, detail, mayBeConsented };
  } catch (error) {
    if (!(error instanceof ReceiverError)) throw error;
    return rejected(refusal(error.code, error.message), "no_handshake", error.message);
  }
}

/**
 * Marks a response as private if the URL may contain a credential, because caches must not store such a response
 * (CEW-3.2-4).
 */
function keptPrivate(answer: InboundAnswer, { url }: InboundRequest): InboundAnswer {
  if (answer.status >= 300 || !url.includes("?")) return answer;
  return { ...answer, headers: { ...answer.headers, "cache-control": "private" } };
}

function challenged({ answer }: Extract<Received, { readonly kind: "challenge" }>): Ended {
  const { status, contentType, body } = answer;
  const headers = {
    "x-content-type-options": "nosniff",
    ...(contentType !== null && { "content-type": contentType }),
  };
  return { answer: { status, headers, body }, outcome: "challenge", forwards: [], eventId: null };
}
