import assert from "node:assert/strict";
import type { Priority } from "../../domain/delivery.ts";
import { standard } from "../../domain/profiles/standard.ts";
import { WaitingSlots } from "../../domain/request-slots.ts";
import type { LaneKey } from "../../domain/webhook.ts";
import type { ClaimedDelivery, ClaimResult, DeliveryStore, Lease } from "../../ports/store/deliveries.ts";
import type { Metrics } from "../../ports/telemetry.ts";
import { soleOwner } from "../endpoint/ownership.ts";
import type { CapacityLimits } from "./capacity.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { Flight } from "../attempt/attempts.ts";
import type { EndpointConfig } from "../endpoint/endpoint-config.ts";
import { Endpoint } from "../endpoint/endpoint.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import type { Pace } from "../endpoint/endpoint-states.ts";
import { TenantQueue } from "../endpoint/tenant-queue.ts";
import { Wakeups } from "../endpoint/wakeups.ts";

export interface EndpointDraft {
  readonly host?: string;
  readonly tenant?: string;
  readonly ordering?: LaneKey["ordering"];
  /** The default is `quick`. */
  readonly pace?: Pace;
  /** Whether the receiver has ever responded. The default depends on `pace`. */
  readonly hasAnswered?: boolean;
}

/** A dispatcher whose lanes and request results are controlled by the test. */
export class DispatchScene {
  readonly clock = new ManualClock();
  readonly dispatcher: Dispatcher;
  readonly waitingSlots: WaitingSlots;
  /** Requests in flight, in the order in which they started. */
  readonly flights: Flight[] = [];
  /** The endpoint name of each request that was sent. */
  readonly sent: string[] = [];
  /** The result of a claim from one lane. */
  claim: (key: LaneKey) => ClaimResult = () => assert.fail("nothing is claimed here");
  /** Leases returned to the store. */
  readonly released: Lease[] = [];
  readonly #tenantQueues = new Map<string, TenantQueue>();
  #published = 0;

  constructor({ waitingRequests = 1_000, ...limits }: Partial<CapacityLimits & { waitingRequests: number }>) {
    const { clock } = this;
    this.waitingSlots = new WaitingSlots(waitingRequests, () => this.#tenantQueues.size > 1);
    this.dispatcher = new Dispatcher({
      concurrency: 100,
      webhookConcurrency: 5,
      hostConcurrency: null,
      ...limits,
      waitingSlots: this.waitingSlots,
      severalTenants: () => this.#tenantQueues.size > 1,
      clock,
      wakeups: new Wakeups(clock),
      leaseMs,
      bufferBytesMax: 1_000_000,
      store: {
        claim: async (requests: Parameters<DeliveryStore["claim"]>[0]) =>
          requests.map(({ lane }) => this.claim(lane)),
        release: async (leases: readonly Lease[]) => void this.released.push(...leases),
      } as Partial<DeliveryStore> as DeliveryStore,
      telemetry: {
        log: { debug() {}, info() {}, warn() {}, error() {} },
        metrics: { rateLimited() {} } as unknown as Metrics,
      },
      attempts: {
        start: (flight) => {
          this.flights.push(flight);
          this.sent.push(flight.endpoint.webhook.id);
        },
      },
      settler: { withoutAttempt: () => assert.fail("every delivery has its body, and none expires") },
      states: { circuitMoved() {} },
      notes: null,
      commits: { backlog: 0, trouble: null },
      shortages: { pausing: false },
      ownership: () => soleOwner,
      backlog: () => ({ finished: true }),
    });
    this.dispatcher.start();
  }

  endpoint(name: string, draft: EndpointDraft = {}): Endpoint {
    const config = configOf(name, draft.host ?? "one.example:443");
    const endpoint = new Endpoint(
      config,
      this.tenantQueue(draft.tenant ?? "default"),
      this.clock.now(),
      {
        endpointWoke: (woken) => this.dispatcher.considerEndpoint(woken),
        laneWoke: (woken) => this.dispatcher.consider(woken),
        tenantQueueWoke: (woken) => this.dispatcher.considerTenantQueue(woken),
      },
      true,
    );
    const pace = draft.pace ?? "quick";
    endpoint.answered(pace, draft.hasAnswered ?? pace !== "unknown");
    endpoint.lane({ webhookId: name, ordering: draft.ordering ?? "none", eventType: null });
    return endpoint;
  }

  tenantQueue(tenantId: string): TenantQueue {
    const known = this.#tenantQueues.get(tenantId);
    if (known !== undefined) return known;
    const tenantQueue = new TenantQueue(tenantId, (woken) => this.dispatcher.considerTenantQueue(woken));
    this.#tenantQueues.set(tenantId, tenantQueue);
    return tenantQueue;
  }

  /** Puts deliveries into the lane of an endpoint and lets the dispatcher send. */
  async publish(endpoint: Endpoint, count = 1): Promise<void> {
    const [lane] = endpoint.lanes.values();
    assert.ok(lane !== undefined);
    for (let n = 0; n < count; n += 1) lane.push(this.delivery("normal"), this.clock.now() + leaseMs);
    this.dispatcher.consider(lane);
    await this.clock.turn();
  }

  /** Completes the oldest request to the endpoint and commits its settlement. */
  async answer(endpoint: Endpoint, pace: Pace = "quick"): Promise<void> {
    const index = this.flights.findIndex((flight) => flight.endpoint === endpoint);
    const [flight] = this.flights.splice(index, 1);
    assert.ok(index !== -1 && flight !== undefined, `no request to ${endpoint.webhook.id} is on its way`);
    this.dispatcher.answered(flight, pace, pace !== "silent");
    this.dispatcher.settled(flight, null);
    await this.clock.turn();
  }

  /** Advances time and lets the dispatcher send. */
  async seconds(count: number): Promise<void> {
    for (let step = 0; step < count * 10; step += 1) {
      this.clock.advance(100);
      await this.clock.turn();
    }
  }

  /** Applies a change of the webhook. */
  async change(
    endpoint: Endpoint,
    to: { readonly host?: string; readonly status?: "active" | "disabled" },
  ): Promise<void> {
    const { config } = endpoint;
    const webhook = { ...config.webhook, status: to.status ?? config.webhook.status };
    endpoint.reconfigure({ ...config, host: to.host ?? config.host, webhook });
    this.dispatcher.considerEndpoint(endpoint);
    await this.clock.turn();
  }

  /** Names of the endpoints with requests in flight, in alphabetical order. */
  inFlight(): string[] {
    return this.flights.map(({ endpoint }) => endpoint.webhook.id).toSorted((a, b) => a.localeCompare(b));
  }

  /** Has only the fields that the dispatcher reads. */
  delivery(priority: Priority = "normal"): ClaimedDelivery {
    this.#published += 1;
    return {
      lease: { ref: this.#published, deliveryId: "", leaseToken: 1 },
      priority,
      body: Buffer.from("{}"),
      progress: { createdAt: this.clock.now(), dueAt: this.clock.now(), retried: null },
    } as unknown as ClaimedDelivery;
  }
}

/** Has only the fields that the dispatcher reads. */
function configOf(name: string, host: string): EndpointConfig {
  const { ageMsMax, circuitBreaker } = standard;
  return {
    host,
    webhook: { id: name, status: "active", pause: null, url: `https://${host}/` },
    canSign: true,
    policy: { ageMsMax, circuitBreaker, rateLimit: null },
  } as unknown as EndpointConfig;
}

const leaseMs = 300_000;
