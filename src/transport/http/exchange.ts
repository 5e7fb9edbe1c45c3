import type { Dispatcher } from "undici";
import type { AttemptObservation, TransportFailureCategory } from "../../domain/classify.ts";
import { withoutInnerAddresses } from "../../domain/egress/address-policy.ts";
import { codeOf } from "../../domain/thrown.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import {
  noResponseFields,
  type OutboundRequest,
  type ResponseFields,
  responseBodyBytesMaxAllowed,
  responseSampleBytesMax,
  retryAfterLengthMax,
  type Shortage,
  type TransportResult,
  tracedCharactersMax,
  tracedFieldsMax,
  type WireTrace,
} from "../../ports/transport.ts";
import type { Connection } from "./connection.ts";
import type { PooledConnection } from "./connections.ts";
import { decodedBody, firstOf, keptFields, type RawFields, readableSample } from "./content-coding.ts";
import { breaksHttp, faultOf, ownFaultOf, sentence, TransportFault } from "./failures.ts";
import { type WireLimitListener, wireBytesMax } from "./response-gate.ts";

/** Creates the trace of an attempt. It contains no dial times if the connection was reused. */
function wireTrace(
  connection: Pick<Connection, "httpVersion" | "times"> | null,
  isSecure: boolean,
  head: RawFields | null,
  startedMs: number,
  waitedUntilMs: number | null,
): WireTrace {
  const times = connection?.times ?? null;
  const isNew = times !== null && times.startedMs >= startedMs;
  const readyMs = times?.readyMs(isSecure) ?? null;
  return {
    httpVersion: readyMs === null ? null : (connection?.httpVersion ?? null),
    peerAddress: times?.peerAddress ?? null,
    ...fieldsOf(head),
    timings: {
      dnsMs: isNew ? times.dnsMs : null,
      connectMs: isNew ? times.connectMs : null,
      tlsMs: isNew ? times.tlsMs : null,
      waitMs:
        readyMs === null || waitedUntilMs === null
          ? null
          : Math.round(waitedUntilMs - Math.max(readyMs, startedMs)),
    },
  };
}

function fieldsOf(head: RawFields | null): Pick<WireTrace, "responseHeaders" | "headersCut"> {
  const responseHeaders: string[] = [];
  let room = tracedCharactersMax;
  for (const [name, given] of Object.entries(head ?? {})) {
    if (name.startsWith(":") || given === undefined) continue;
    for (const value of typeof given === "string" ? [given] : given) {
      if (responseHeaders.length >= 2 * tracedFieldsMax || room <= name.length)
        return { responseHeaders, headersCut: true };
      const kept = value.slice(0, room - name.length);
      responseHeaders.push(name, kept);
      room -= name.length + kept.length;
      if (kept.length < value.length) return { responseHeaders, headersCut: true };
    }
  }
  return { responseHeaders, headersCut: false };
}

/**
 * How many body bytes are read to keep the connection. A longer body is truncated by us, not by the receiver, so the
 * response does not count as incomplete: the status decides the outcome.
 */
const bodyBytesMax = 64 * 1024;
/** Maximum number of 1xx responses before the final one. */
const interimResponsesMax = 32;

export interface ExchangeOwner {
  monotonicMs(): number;
  /** Called to send the request again over a new connection. Returns false if that is not possible. */
  repeats(exchange: Exchange): boolean;
  /** Called once, before the result is handed out. `reusable` means that the connection is at a message boundary. */
  ended(exchange: Exchange, reusable: boolean): void;
}

/**
 * One request and its response: undici's handler, reduced to what a `TransportResult` needs. It settles exactly once,
 * on whichever comes first: end of the response, failure, a limit, the deadline, or the end of the transport.
 */
export class Exchange implements Dispatcher.DispatchHandler, Expiring, WireLimitListener {
  readonly request: OutboundRequest;
  readonly deadlineMs: number;
  /**
   * Only requests with the same key share connections: the origin, plus any TLS settings that differ from the default.
   */
  readonly poolKey: string;
  pooled: PooledConnection | null = null;
  /** Whether the connection had served another request before. */
  isReused = false;
  needsNewConnection = false;
  settled = false;
  /** 0 until the header block of the final response is complete. */
  status = 0;
  readonly #owner: ExchangeOwner;
  readonly #resolve: (result: TransportResult) => void;
  readonly #startedMs: number;
  #requestSent = false;
  #startedOver = false;
  #interimResponses = 0;
  #retryAfter: string | null = null;
  #head: RawFields | null = null;
  /** Set only if the attempt is traced. */
  #headMs: number | null = null;
  /** Set if the request had to wait for an unused socket. */
  #placedMs: number | null = null;
  #fields: ResponseFields = noResponseFields;
  #sample: Buffer | null = null;
  #sampleBytes = 0;
  #bodyBytes = 0;

  constructor(request: OutboundRequest, owner: ExchangeOwner, resolve: (result: TransportResult) => void) {
    this.request = request;
    this.poolKey = poolKeyOf(request);
    this.#owner = owner;
    this.#resolve = resolve;
    this.#startedMs = owner.monotonicMs();
    this.deadlineMs = this.#startedMs + request.timeoutMs;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.settled) controller.abort(new Error("settled before it was sent"));
    else this.pooled?.connection.expectAnswer(this);
  }

  onRequestSent(): void {
    this.#requestSent = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController | null,
    status: number,
    headers: RawFields,
  ): void {
    if (status < 200) {
      if (++this.#interimResponses > interimResponsesMax)
        this.fail("protocol", "too many interim (1xx) responses");
      return;
    }
    this.status = status;
    this.#retryAfter = firstOf(headers["retry-after"], retryAfterLengthMax);
    this.#fields = keptFields(headers, status, this.request);
    this.#head = headers;
    if (this.request.traced !== true && isUsual(status)) return;
    this.#headMs = this.#owner.monotonicMs();
  }

  onResponseData(_controller: Dispatcher.DispatchController | null, chunk: Uint8Array): void {
    this.#bodyBytes += chunk.length;
    this.#keep(chunk);
    if (this.#bodyBytes > bodyBytesMax) this.#answer(true, false, null);
  }

  onResponseEnd(): void {
    // A body that ends with the connection looks complete to undici even after a reset.
    const complete = (this.pooled?.connection.socketError ?? null) === null;
    const message = complete ? null : "connection reset before the response was complete";
    this.#answer(complete, complete, message);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#isLostRace(error) && this.#owner.repeats(this)) return;
    const cutShort = !breaksHttp(error) || codeOf(error) === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH";
    if (this.status !== 0 && cutShort) {
      const message = sentence(`response ended after ${this.#bodyBytes} bytes of its body: ${error.message}`);
      this.#answer(false, false, message);
      return;
    }
    const fault = this.#faultOf(error);
    const message = this.status === 0 ? fault.message : `after status ${this.status}: ${fault.message}`;
    this.fail(fault.category, message, ownFaultOf(fault));
  }

  /** Called when the exchange gets a socket after waiting for one. */
  placed(): void {
    this.#placedMs = this.#owner.monotonicMs();
  }

  /**
   * Returns true the first time: the receiver did not process the request, which may be sent over another connection.
   */
  startOver(): boolean {
    this.#requestSent = false;
    if (this.#startedOver) return false;
    this.#startedOver = true;
    return true;
  }

  /**
   * The receiver closed an idle connection while the request was in transit, as every server does occasionally. Usually
   * the receiver has not seen the request. Otherwise it receives the request twice with the same key, as after any lost
   * response.
   */
  #isLostRace(error: Error): boolean {
    if (!this.isReused || this.#startedOver || this.settled || this.pooled?.connection.isSilent !== true)
      return false;
    return lostCodes.has(codeOf(error) ?? "");
  }

  /**
   * Prepares the request to be sent again after a lost connection. Unlike with `startOver`, the receiver may already
   * have received it.
   */
  repeat(): void {
    this.#startedOver = true;
    this.isReused = false;
    this.needsNewConnection = true;
  }

  expire(): void {
    const seen = this.status === 0 ? "" : ` (status ${this.status} seen)`;
    this.fail("timeout", `no complete response within ${this.request.timeoutMs} ms${seen}`);
  }

  /** `ownFault` is the reason why this side could not send the request. */
  fail(
    category: TransportFailureCategory,
    message: string,
    ownFault: Shortage | "malformed" | null = null,
  ): void {
    const requestSent = this.#requestSent;
    this.#settle(
      { kind: "failure", category, requestSent },
      false,
      sentence(message),
      requestSent ? null : ownFault,
    );
  }

  /**
   * Called when the response exceeds the limit on the wire. undici bounds the head and we bound the body, so the excess
   * is in the framing.
   */
  onWireLimit(): void {
    if (this.status !== 0) this.#answer(true, false, null);
    else this.fail("protocol", `more than ${wireBytesMax} bytes without a complete response head`);
  }

  #answer(complete: boolean, reusable: boolean, message: string | null): void {
    const observation: AttemptObservation =
      this.#retryAfter === null
        ? { kind: "response", status: this.status, complete }
        : { kind: "response", status: this.status, complete, retryAfter: this.#retryAfter };
    this.#settle(observation, reusable, message, null);
  }

  /** A TLS alert contains the reason; undici reports only the end of the connection, which follows immediately. */
  #faultOf(error: Error): TransportFault {
    const socketError = this.pooled?.connection.socketError ?? null;
    const fault = faultOf(codeOf(socketError)?.startsWith("ERR_SSL_") === true ? socketError : error);
    const mayBeRejected = this.request.clientCertificate !== null && this.#requestSent && this.status === 0;
    if (fault.category !== "network" || !mayBeRejected) return fault;
    return new TransportFault(
      "network",
      `${fault.message}; the receiver may not accept the client certificate`,
    );
  }

  #settle(
    observation: AttemptObservation,
    reusable: boolean,
    message: string | null,
    ownFault: Shortage | "malformed" | null,
  ): void {
    if (this.settled) return;
    this.settled = true;
    const endedMs = this.#owner.monotonicMs();
    const durationMs = Math.round(endedMs - this.#startedMs);
    const trace = this.#traceOf(observation, endedMs);
    this.#owner.ended(this, reusable);
    this.#resolve({
      observation,
      responseSample: this.#keptBody(),
      fields: this.#fields,
      errorMessage: message === null ? null : this.#shown(message),
      durationMs,
      ...(ownFault === "malformed" ? { malformed: true } : ownFault !== null && { shortage: ownFault }),
      ...(trace !== null && { trace }),
    });
  }

  /** Removes internal addresses from the message. The trace contains them, but access to it is restricted. */
  #shown(message: string): string {
    return withoutInnerAddresses(message, new URL(this.request.origin).hostname);
  }

  /** The trace of an attempt. Null after a complete and usual response, unless a trace was requested. */
  #traceOf(observation: AttemptObservation, endedMs: number): WireTrace | null {
    const isAnswered = observation.kind === "response" && observation.complete && isUsual(observation.status);
    if (isAnswered && this.request.traced !== true) return null;
    return wireTrace(
      this.pooled?.connection ?? null,
      this.request.origin.startsWith("https:"),
      this.#head,
      this.#placedMs ?? this.#startedMs,
      this.#head === null ? endedMs : this.#headMs,
    );
  }

  /** Most responses arrive in one piece; the second piece allocates space for everything that will be kept. */
  #keep(chunk: Uint8Array): void {
    const wanted = this.request.responseBodyBytesMax ?? responseSampleBytesMax;
    const keptMax = Math.min(wanted, responseBodyBytesMaxAllowed);
    const room = keptMax - this.#sampleBytes;
    if (room <= 0) return;
    const part = chunk.length > room ? chunk.subarray(0, room) : chunk;
    if (this.#sample === null) this.#sample = Buffer.from(part);
    else this.#append(this.#sample, part, keptMax);
    this.#sampleBytes += part.length;
  }

  #append(sample: Buffer, part: Uint8Array, keptMax: number): void {
    let target = sample;
    if (sample.length < keptMax) {
      target = Buffer.allocUnsafe(keptMax);
      target.set(sample);
      this.#sample = target;
    }
    target.set(part, this.#sampleBytes);
  }

  #keptBody(): Uint8Array | null {
    const sample = this.#sample;
    if (sample === null) return null;
    const body = sample.length === this.#sampleBytes ? sample : sample.subarray(0, this.#sampleBytes);
    const head = this.#head;
    if (head === null || !isCoded(head)) return body;
    const { responseBodyBytesMax } = this.request;
    if (responseBodyBytesMax === undefined) return readableSample(body, head, responseSampleBytesMax);
    // A machine consumer needs either the whole body or none of it.
    const isWhole = body.length < Math.min(responseBodyBytesMax, responseBodyBytesMaxAllowed);
    return isWhole ? decodedBody(body, head, responseBodyBytesMaxAllowed) : body;
  }
}

const lostCodes: ReadonlySet<string> = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE", "ECONNABORTED"]);

/** False for almost all responses, which are UTF-8 without a content coding. */
function isCoded(head: RawFields): boolean {
  if (head["content-encoding"] !== undefined) return true;
  const type = head["content-type"];
  return typeof type === "string" && /charset\s*=\s*"?(?!utf-8)/i.test(type);
}

/** Status class 2xx, except 207, which few webhooks accept. */
function isUsual(status: number): boolean {
  return status >= 200 && status < 300 && status !== multiStatus;
}

const multiStatus = 207;

/** The key of an ordinary request is its origin, which costs nothing. TLS settings do not matter over `http:`. */
function poolKeyOf({ origin, http2, clientCertificate }: OutboundRequest): string {
  if ((!http2 && clientCertificate === null) || !origin.startsWith("https:")) return origin;
  return `${origin} ${http2 ? "h2" : "h1"} ${clientCertificate?.id ?? ""}`;
}

export interface Expiring {
  /** On the monotonic clock. */
  readonly deadlineMs: number;
  expire(): void;
}

/** Deadlines this close together are handled in one turn of the event loop. */
const slackMs = 20;

/**
 * Manages many deadlines with one timer. Nearly every request ends long before its deadline, so adding and removing
 * must cost almost nothing: a set, and a scan when the earliest deadline of the last scan is due. If that item has
 * ended, the scan finds nothing and moves on to the next earliest deadline.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #items = new Set<Expiring>();
  #timer: Timer | null = null;
  #scanAtMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(item: Expiring): void {
    this.#items.add(item);
    if (item.deadlineMs < this.#scanAtMs) this.#arm(item.deadlineMs);
  }

  remove(item: Expiring): void {
    this.#items.delete(item);
  }

  /** Calls `end` for every pending item and stops the timer. */
  drain(end: (item: Expiring) => void): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#scanAtMs = Number.POSITIVE_INFINITY;
    for (const item of [...this.#items]) end(item);
  }

  #arm(atMs: number): void {
    this.#timer?.cancel();
    const delayMs = Math.max(atMs - this.#clock.monotonicMs(), 1);
    this.#scanAtMs = atMs;
    this.#timer = this.#clock.schedule(Math.ceil(delayMs), () => this.#scan());
  }

  #scan(): void {
    this.#timer = null;
    this.#scanAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.monotonicMs();
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const item of this.#items) {
      if (item.deadlineMs <= nowMs) item.expire();
      else if (item.deadlineMs < earliestMs) earliestMs = item.deadlineMs;
    }
    if (this.#items.size > 0 && earliestMs < this.#scanAtMs) this.#arm(Math.max(earliestMs, nowMs + slackMs));
  }
}
