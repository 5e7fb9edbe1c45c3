import { judgeUrl, type UrlRules } from "../../domain/egress/url-policy.ts";
import { PosthornError } from "../../domain/errors.ts";
import { clientNetwork } from "../../domain/http/network.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ReceivedRequest } from "../../ports/store/gateway.ts";
import type { Transport } from "../../ports/transport.ts";
import { answerHandshake, type HandshakeRequest } from "../../receiver/handshake.ts";
import type { ReceivedMessage } from "../../receiver/message/message.ts";
import type { OutsideCalls } from "../verification/outside-calls.ts";
import type { InboundAnswer } from "./gateway-services.ts";
import type { GatewayOutcome } from "./relayed.ts";
import type { Source } from "./source.ts";

/**
 * Number of failures that one client address may have at a source before the address is limited, and how fast failures
 * expire.
 */
interface Allowance {
  readonly burst: number;
  readonly perSecond: number;
}

/** Requests whose head alone shows that they carry no proof. */
const withoutProof: Allowance = { burst: 30, perSecond: 0.5 };
/**
 * Requests with an invalid proof. Generous, because many senders may share an address behind a proxy that
 * `POSTHORN_TRUSTED_PROXIES` does not list.
 */
const wrongProof: Allowance = { burst: 300, perSecond: 5 };
/** A client address that sent an authentic message to the source within this time is not limited by invalid proofs. */
const trustMs = 3_600_000;
/** Maximum number of tracked pairs of source and client address. The least recently seen pairs are evicted first. */
const entriesMax = 10_000;

interface Sender {
  withoutProof: number;
  wrongProof: number;
  /** Time to which both counts refer. */
  at: number;
  verifiedAt: number;
}

/** The limit that applies to the next request from a client address, before its body is read. */
export interface SenderLimit {
  /** Refuse the request if its head shows no proof. */
  readonly needsProof: boolean;
  /** Refuse the request in any case. */
  readonly isClosed: boolean;
  readonly retryAfterSeconds: number;
}

/** Counts failed verifications by source and client address, in bounded memory. */
export class FailedSenders {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #senders = new Map<string, Sender>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#senders.size;
  }

  /** Null if the client address is not limited. */
  limit(sourceId: string, address: string): SenderLimit | null {
    const sender = this.#senders.get(keyOf(sourceId, address));
    if (sender === undefined) return null;
    this.#forget(sender);
    const needsProof = sender.withoutProof > withoutProof.burst - 1;
    const isTrusted = this.#clock.monotonicMs() - sender.verifiedAt <= trustMs;
    const isClosed = !isTrusted && sender.wrongProof > wrongProof.burst - 1;
    if (!needsProof && !isClosed) return null;
    const retryAfterSeconds = isClosed ? 1 / wrongProof.perSecond : 1 / withoutProof.perSecond;
    return { needsProof, isClosed, retryAfterSeconds };
  }

  failed(sourceId: string, address: string, hadProof: boolean): void {
    const sender = this.#senderAt(keyOf(sourceId, address));
    if (hadProof) sender.wrongProof = Math.min(sender.wrongProof + 1, wrongProof.burst);
    else sender.withoutProof = Math.min(sender.withoutProof + 1, withoutProof.burst);
  }

  verified(sourceId: string, address: string): void {
    const key = keyOf(sourceId, address);
    // Track only addresses that have failed verification.
    if (this.#senders.has(key)) this.#senderAt(key).verifiedAt = this.#clock.monotonicMs();
  }

  /** Returns the sender and moves it to the end of the eviction order. */
  #senderAt(key: string): Sender {
    const now = this.#clock.monotonicMs();
    const known = this.#senders.get(key);
    const sender = known ?? { withoutProof: 0, wrongProof: 0, at: now, verifiedAt: Number.NEGATIVE_INFINITY };
    this.#forget(sender);
    this.#senders.delete(key);
    this.#senders.set(key, sender);
    if (this.#senders.size > entriesMax) {
      const [oldest] = this.#senders.keys();
      if (oldest !== undefined) this.#senders.delete(oldest);
    }
    return sender;
  }

  #forget(sender: Sender): void {
    const now = this.#clock.monotonicMs();
    const seconds = (now - sender.at) / 1_000;
    sender.withoutProof = Math.max(0, sender.withoutProof - seconds * withoutProof.perSecond);
    sender.wrongProof = Math.max(0, sender.wrongProof - seconds * wrongProof.perSecond);
    sender.at = now;
  }
}

function keyOf(sourceId: string, address: string): string {
  return `${sourceId} ${clientNetwork(address)}`;
}

/** Maximum number of log rows per source and minute, by kind and in total; further requests are only counted. */
const unprovenRows = { ofKind: 10, ofSource: 40 } as const;
const refusedRows = { ofKind: 600, ofSource: 1_200 } as const;
const minuteMs = 60_000;
/** Limits per tenant, day and process. Beyond them, rows have neither headers nor body, and fewer rows are kept. */
const unprovenBytesMax = 32 * 1024 * 1024;
const provenBytesMax = 1024 * 1024 * 1024;
const dayMs = 86_400_000;
/** Size of a row without its strings. */
const rowBytes = 512;

/** Requests of the same kind are counted together. */
export interface RequestKind {
  readonly outcome: GatewayOutcome;
  readonly cause: string | null;
  readonly isProven: boolean;
}

/** The rows of one kind in one minute. */
interface Counted {
  rows: number;
  /** The newest row, which counts the requests that got no row. */
  last: string | null;
}

interface SourceMinute {
  readonly since: number;
  rows: number;
  readonly kinds: Map<string, Counted>;
}

/** Decides which requests get a row in the request log, and how much of each request the row keeps. */
export class RequestAdmission {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #minutes = new Map<string, SourceMinute>();
  readonly #tenants = new Map<string, { since: number; proven: number; unproven: number }>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /**
   * Returns true if a request gets a row. Otherwise, returns the ID of the row that counts it, if there is one. Every
   * accepted message gets a row. Other requests get a limited number of rows per minute, which is enough for debugging;
   * the rest are counted at the newest of these rows.
   */
  admits({ id, tenantId }: Pick<Source, "id" | "tenantId">, kind: RequestKind): boolean | string {
    const { outcome, isProven } = kind;
    const isTaken = outcome === "accepted" || outcome === "duplicate";
    if (isProven && (isTaken || outcome === "failed")) return true;
    const now = this.#clock.monotonicMs();
    let minute = this.#minutes.get(id);
    if (minute === undefined || now - minute.since >= minuteMs) {
      minute = { since: now, rows: 0, kinds: new Map() };
      this.#minutes.set(id, minute);
    }
    const name = kindName(kind);
    let counted = minute.kinds.get(name);
    if (counted === undefined) minute.kinds.set(name, (counted = { rows: 0, last: null }));
    const { ofKind, ofSource } = isProven ? refusedRows : unprovenRows;
    const rowsMax = this.isBrief({ tenantId }, isProven) ? 1 : ofKind;
    // The first request of each kind always gets a row, so that a flood of one kind does not hide others.
    const isKept = counted.rows === 0 || (counted.rows < rowsMax && minute.rows < ofSource);
    if (isKept) {
      counted.rows += 1;
      minute.rows += 1;
      return true;
    }
    return counted.last ?? false;
  }

  /** Whether the tenant has used its daily budget for rows. */
  isBrief({ tenantId }: Pick<Source, "tenantId">, isProven: boolean): boolean {
    const used = this.#tenants.get(tenantId);
    if (used === undefined || this.#clock.monotonicMs() - used.since >= dayMs) return false;
    return isProven ? used.proven >= provenBytesMax : used.unproven >= unprovenBytesMax;
  }

  /**
   * Call after adding a row. Further requests of its kind are counted at this row, and its size is charged to the
   * tenant.
   */
  added(row: ReceivedRequest, kind: RequestKind): void {
    const counted = this.#minutes.get(row.sourceId)?.kinds.get(kindName(kind));
    if (counted !== undefined) counted.last = row.id;
    this.charge(row, kind.isProven);
  }

  charge({ tenantId, path, headers, sealedHeaders, body }: ReceivedRequest, isProven: boolean): void {
    const now = this.#clock.monotonicMs();
    let used = this.#tenants.get(tenantId);
    if (used === undefined || now - used.since >= dayMs)
      this.#tenants.set(tenantId, (used = { since: now, proven: 0, unproven: 0 }));
    const texts = headers.reduce(
      (sum, text) => sum + text.length,
      path.length + (sealedHeaders?.length ?? 0),
    );
    const bytes = rowBytes + texts + (body?.byteLength ?? 0);
    if (isProven) used.proven += bytes;
    else used.unproven += bytes;
  }
}

function kindName({ outcome, cause, isProven }: RequestKind): string {
  return `${outcome} ${cause ?? ""} ${isProven}`;
}

/**
 * The CloudEvents handshake: with an OPTIONS request, a sender requests permission to deliver (CEW-4). Permission may
 * be granted later.
 */

type SourceHandshake = NonNullable<Source["handshake"]>;

/** The response to a handshake and its log entry. */
export interface Consent {
  readonly answer: InboundAnswer;
  readonly isGiven: boolean;
  readonly detail: string;
  /**
   * Where permission can be sent later; null unless permission was withheld and the sender supports this (CEW-4.2-2).
   */
  readonly callbackUrl: string | null;
}

/** Answers a handshake. Throws ReceiverError `invalid_message` if the request is not a handshake. */
export async function answerConsent(message: ReceivedMessage, source: Source): Promise<Consent> {
  const { allowedOrigins } = source.handshake as SourceHandshake;
  const withheld: HandshakeRequest[] = [];
  const decide = (request: HandshakeRequest) => {
    const { origin, callbackUrl } = request;
    if (allowedOrigins.some((name) => name.toLowerCase() === origin.toLowerCase())) return "allow";
    withheld.push(request);
    return callbackUrl === null ? "deny" : "later";
  };
  const allow = allowedOrigins.includes("*") ? "*" : decide;
  const answer = await answerHandshake(message, { allow, ratePerMinuteMax: rateMaxOf(source) });
  return { ...described(withheld[0]), answer: { ...answer, body: answer.body ?? "" } };
}

function described(withheld: HandshakeRequest | undefined): Omit<Consent, "answer"> {
  if (withheld === undefined) return { isGiven: true, detail: "The sender may deliver.", callbackUrl: null };
  const { origin, callbackUrl } = withheld;
  const later = callbackUrl === null ? "" : "; after adding it, replay this request to notify the sender";
  return { isGiven: false, detail: `${origin} is not among allowed_origins${later}.`, callbackUrl };
}

function rateMaxOf({ handshake, rateLimit }: Source): number | "*" {
  return handshake?.ratePerMinuteMax ?? rateLimit?.requestsPerMinute ?? "*";
}

export interface ConsentSender {
  readonly transport: Pick<Transport, "send">;
  readonly urlRules: UrlRules;
  readonly calls: OutsideCalls;
}

const callbackTimeoutMs = 10_000;

/**
 * Notifies a sender that it may deliver now, by POST to its callback address (CEW-4.1.3). Anyone can choose that
 * address, so the rules for webhook URLs apply. Throws PosthornError `conflict` if the sender does not accept, and
 * `rate_limited` if too many calls are made.
 */
export async function giveConsent(
  { transport, urlRules, calls }: ConsentSender,
  tenantId: string,
  message: ReceivedMessage,
  consent: Consent,
): Promise<void> {
  const judged = judgeUrl(message.headers.get("webhook-request-callback")?.trim() ?? "", urlRules);
  if (judged.kind === "refused")
    throw new PosthornError("conflict", "the callback address of the sender is not allowed");
  const { origin, pathname, search } = new URL(judged.url);
  const request = {
    method: "POST",
    origin,
    path: pathname + search,
    body: new Uint8Array(),
    timeoutMs: callbackTimeoutMs,
    headers: ["WebHook-Allowed-Rate", consent.answer.headers["webhook-allowed-rate"] ?? "*"],
    http2: false,
    clientCertificate: null,
  } as const;
  const { observation } = await calls.run(tenantId, judged.url, () => transport.send(request));
  const isTaken = observation.kind === "response" && observation.status >= 200 && observation.status < 300;
  if (!isTaken) throw new PosthornError("conflict", "the sender could not be notified that it may deliver");
}
