import { agesFrom, scheduledAttempts } from "../../../src/domain/delivery.ts";
import type { LiveWebhook } from "../../../src/engine/endpoint/endpoint-config.ts";
import type { OutboundRequest } from "../../../src/ports/transport.ts";
import { rejectionBy, verifyingKey } from "../../peers/kit-verifier.ts";
import type { EngineRun } from "../engine-run.ts";
import { isWaiting, type LedgerDelivery } from "../ledger.ts";
import { openStubSecret } from "../stub-secret-box.ts";
import type { Flight, Flights } from "./flights.ts";
import type { Pauses } from "./pauses.ts";
import type { Rates } from "./rates.ts";
import type { Watched } from "./watched.ts";

export interface SentRequest {
  readonly run: EngineRun;
  readonly webhookId: string;
  readonly request: OutboundRequest;
}

/** Checks every request when it is sent (I-5 to I-13). */
export class RequestChecks {
  readonly #watched: Watched;
  readonly #pauses: Pauses;
  readonly #rates: Rates;
  /**
   * Highest number of attempts that each webhook has ever allowed, because a changed schedule does not affect waiting
   * deliveries.
   */
  readonly #attemptsMax = new Map<string, number>();
  readonly tenantLimits = new Map<
    string,
    { readonly requestsPerMinute: number; readonly burst: number } | null
  >();

  constructor(watched: Watched, parts: { readonly pauses: Pauses; readonly rates: Rates }) {
    this.#watched = watched;
    this.#pauses = parts.pauses;
    this.#rates = parts.rates;
  }

  configured(webhook: LiveWebhook): void {
    const { id } = webhook.webhook;
    this.#attemptsMax.set(id, Math.max(this.#attemptsMax.get(id) ?? 0, webhook.policy.attemptsMax));
  }

  attemptsMax(webhookId: string): number {
    return this.#attemptsMax.get(webhookId) ?? 0;
  }

  sent(sent: SentRequest): Flight {
    const { flights, time } = this.#watched;
    const { run, webhookId } = sent;
    const eventId = header(sent.request, "Webhook-ID");
    const delivery = this.#deliveryOf(flights, { run, webhookId, eventId });
    const flight: Flight = {
      run,
      webhookId,
      eventId,
      delivery,
      origin: sent.request.origin,
      sentAt: time.now(),
      sentAtMonotonicMs: time.monotonicMs(),
      state: "open",
      answer: null,
      answeredAt: 0,
      answeredAtMonotonicMs: 0,
      overtakenByClock: false,
    };
    const webhook = run.engine.webhook(webhookId);
    this.#checkGates(flight, webhook);
    this.#checkConcurrency(flight);
    if (delivery !== null && webhook !== undefined) {
      this.#checkOrder(flight, delivery);
      this.#checkBounds(delivery, webhook);
      this.#checkMessage(sent, { delivery, webhook });
    }
    flights.add(flight);
    return flight;
  }

  #deliveryOf(
    flights: Flights,
    {
      run,
      webhookId,
      eventId,
    }: { readonly run: EngineRun; readonly webhookId: string; readonly eventId: string },
  ): LedgerDelivery | null {
    const { ledger, time, fail } = this.#watched;
    const all = ledger.pair(webhookId, eventId);
    const candidates = flights.candidates(run, { webhookId, eventId });
    // A delivery that was due stays due when the clock is set back.
    const due = candidates.filter((delivery) => delivery.progress.dueAt <= time.wallMsMax);
    // A request does not show which of two twins it belongs to (a replay and its original). It is assigned to the one
    // that may be sent now.
    const ageMsMax = run.engine.webhook(webhookId)?.policy.ageMsMax ?? Number.POSITIVE_INFINITY;
    const mayGo = (delivery: LedgerDelivery): boolean =>
      this.#overtaken(delivery) === undefined && time.now() - agesFrom(delivery.progress) <= ageMsMax;
    const found = due.find(mayGo) ?? due[0];
    if (found !== undefined) return found;
    const states = all.map(
      (delivery) =>
        `${delivery.id} ${delivery.progress.state} due ${delivery.progress.dueAt} lease ${JSON.stringify(delivery.lease)}`,
    );
    const detail = `event ${eventId} to webhook ${webhookId} at ${time.now()}: ${states.join(", ")}`;
    if (all.length === 0) fail("I-1", `a request before its publish was committed: ${detail}`);
    else if (!all.some(isWaiting)) fail("I-15", `a request after the end: ${detail}`);
    else if (candidates.length > 0) fail("I-17", `a request before its time: ${detail}`);
    else fail("I-5", `a request without a lease, or a second one at once: ${detail}`);
    return null;
  }

  #checkGates({ webhookId, sentAt }: Flight, webhook: LiveWebhook | undefined): void {
    const { fail } = this.#watched;
    if (webhook === undefined || webhook.webhook.status !== "active") {
      fail("I-11", `webhook ${webhookId} is ${webhook?.webhook.status ?? "deleted"} and got a request`);
      return;
    }
    const pausedUntil = this.#pauses.until(webhookId);
    if (pausedUntil > sentAt)
      fail("I-8", `webhook ${webhookId} asked to be left alone until ${pausedUntil}, now ${sentAt}`);
    this.#checkCircuit(webhook, sentAt);
    this.#rates.take(`webhook ${webhookId}`, webhook.policy.rateLimit);
    const { tenantId } = webhook.webhook;
    this.#rates.take(`tenant ${tenantId}`, this.tenantLimits.get(tenantId) ?? null);
  }

  #checkCircuit({ circuit, policy, webhook }: LiveWebhook, now: number): void {
    const { fail } = this.#watched;
    if (circuit.phase === "closed") return;
    if (circuit.forcedOpenUntil > now) fail("I-9", `webhook ${webhook.id} got a request while forced open`);
    if (!policy.circuitBreaker.enabled) return;
    if (circuit.phase === "open")
      fail("I-9", `webhook ${webhook.id} got a request while its circuit is open`);
    const probesMax = Math.max(1, policy.circuitBreaker.halfOpenMaxCalls);
    if (circuit.probes.length > probesMax || circuit.probes.length === 0) {
      fail(
        "I-9",
        `webhook ${webhook.id} has ${circuit.probes.length} probes on their way, at most ${probesMax} may be`,
      );
    }
  }

  #checkConcurrency({ run, webhookId, origin }: Flight): void {
    const { flights, limits, fail, time } = this.#watched;
    const open = flights.open(run);
    const toWebhook = open.filter((flight) => flight.webhookId === webhookId).length;
    // Requests that started more than a second ago may use a waiting slot, as long as slots are available.
    const waiting = open.filter(({ sentAtMonotonicMs }) => time.monotonicMs() - sentAtMonotonicMs >= 1_000);
    const active = open.length - Math.min(waiting.length, limits.waitingRequests);
    if (active >= limits.concurrency) fail("I-6", `${active + 1} active requests at once in one process`);
    if (toWebhook >= limits.webhookConcurrency)
      fail("I-6", `${toWebhook + 1} requests at once to webhook ${webhookId}`);
    const isThere = (flight: Flight): boolean => flight.origin === origin;
    const waitingThere = Math.min(waiting.filter(isThere).length, limits.waitingRequests);
    const activeThere = open.filter(isThere).length - waitingThere;
    if (activeThere >= (limits.hostConcurrency ?? Number.POSITIVE_INFINITY))
      fail("I-6", `${activeThere + 1} active requests at once to ${origin}`);
  }

  /**
   * In an ordered lane, every delivery committed earlier must be final in the store, and no other delivery may be in
   * flight.
   */
  #checkOrder({ run }: Flight, delivery: LedgerDelivery): void {
    if (delivery.lane.ordering === "none") return;
    const { flights, fail } = this.#watched;
    const overtaken = this.#overtaken(delivery);
    if (overtaken !== undefined)
      fail(
        "I-7",
        `delivery ${delivery.id} overtook ${overtaken.id} (${overtaken.progress.state}) in its lane`,
      );
    for (const flight of flights.all) {
      const isSameLane =
        flight.run === run && flight.delivery !== null && sameLane(flight.delivery, delivery);
      if (isSameLane && flight.delivery !== delivery)
        fail("I-7", `two deliveries of one ordered lane at once: ${delivery.id}`);
    }
  }

  /** The first delivery of the same ordered lane that was committed earlier and is not final. */
  #overtaken(delivery: LedgerDelivery): LedgerDelivery | undefined {
    if (delivery.lane.ordering === "none") return undefined;
    for (const earlier of this.#watched.ledger.lane(delivery.lane)) {
      if (earlier === delivery) return undefined;
      if (isWaiting(earlier)) return earlier;
    }
    return undefined;
  }

  #checkBounds(delivery: LedgerDelivery, { policy, webhook }: LiveWebhook): void {
    const { time, fail } = this.#watched;
    const attemptCount = scheduledAttempts(delivery.progress);
    const attemptsMax = this.attemptsMax(webhook.id);
    if (attemptCount >= attemptsMax)
      fail("I-13", `attempt ${attemptCount + 1} of ${attemptsMax}: ${delivery.id}`);
    const ageMs = time.now() - agesFrom(delivery.progress);
    if (ageMs > policy.ageMsMax)
      fail("I-13", `delivery ${delivery.id} is ${ageMs} ms old, at most ${policy.ageMsMax}`);
  }

  #checkMessage(
    { request }: SentRequest,
    to: { readonly delivery: LedgerDelivery; readonly webhook: LiveWebhook },
  ): void {
    const { time, fail } = this.#watched;
    const { event } = to.delivery;
    if (header(request, "Idempotency-Key") !== `"${event.id}"`)
      fail("I-12", `another key for event ${event.id}`);
    if (header(request, "Content-Type") !== event.contentType)
      fail("I-12", `another content type for event ${event.id}`);
    if (Buffer.compare(request.body, event.body) !== 0) fail("I-12", `another body for event ${event.id}`);
    const nowSeconds = Math.floor(time.now() / 1_000);
    if (header(request, "Webhook-Timestamp") !== String(nowSeconds))
      fail("I-12", `an old timestamp for event ${event.id}`);
    this.#checkSignature(request, to.webhook);
  }

  #checkSignature(request: OutboundRequest, { webhook, secrets }: LiveWebhook): void {
    const { time, fail } = this.#watched;
    const now = time.now();
    const signatures = header(request, "Webhook-Signature").split(" ");
    // An expired key does not become valid again when the clock is set back.
    const inForce = secrets.filter(
      (secret) => secret.expiresAt === null || secret.expiresAt > time.wallMsMax,
    );
    for (const secret of inForce) {
      const key = verifyingKey(openStubSecret(secret.ciphertext));
      const nowSeconds = Math.floor(now / 1_000);
      const rejection = rejectionBy(key, headersOf(request), request.body, nowSeconds, 0);
      if (rejection !== null)
        fail("I-12", `webhook ${webhook.id}: a key in force did not sign: ${rejection}`);
    }
    // A timer drops expired keys. After a clock jump, it checks again within ten seconds. A key that expired just
    // before may therefore still be used.
    const justJumped = time.monotonicMs() - time.lastJumpAtMonotonicMs < 11_000;
    const recent = secrets.filter(
      (secret) => secret.expiresAt !== null && (justJumped || secret.expiresAt > now - 11_000),
    );
    const entriesMax = inForce.length + recent.filter((secret) => !inForce.includes(secret)).length;
    if (signatures.length < inForce.length || signatures.length > entriesMax) {
      fail(
        "I-12",
        `webhook ${webhook.id}: ${signatures.length} signatures with ${inForce.length} keys in force`,
      );
    }
  }
}

function sameLane(a: LedgerDelivery, b: LedgerDelivery): boolean {
  return (
    a.lane.webhookId === b.lane.webhookId &&
    a.lane.ordering === b.lane.ordering &&
    a.lane.eventType === b.lane.eventType
  );
}

function headersOf({ headers }: OutboundRequest): Record<string, string> {
  const byName: Record<string, string> = {};
  for (let index = 0; index < headers.length; index += 2) {
    byName[(headers[index] as string).toLowerCase()] = headers[index + 1] as string;
  }
  return byName;
}

function header(request: OutboundRequest, name: string): string {
  return headersOf(request)[name.toLowerCase()] ?? "";
}
