import { randomBytes } from "node:crypto";
import { createHealth } from "../../src/domain/endpoint-health.ts";
import { bucketAt } from "../../src/domain/statistics/keys.ts";
import { type Fact, publishFacts, settlementFact } from "../../src/domain/statistics/facts.ts";
import { OpenBuckets } from "../../src/domain/statistics/open-buckets.ts";
import type {
  Lease,
  PublishCommand,
  Settlement,
  WebhookRuntimeState,
} from "../../src/ports/store/deliveries.ts";
import type { SecretBox } from "../../src/ports/secret-box.ts";
import type { Store } from "../../src/ports/store.ts";
import { newWebhook } from "../../test/conformance/store/scene.ts";

/** The part of a day that is written; the others are like it. */
export interface HistoryBlock {
  readonly beginsAt: number;
  readonly spanMs: number;
  readonly deliveries: number;
  readonly copies: number;
  /** Those of one tenant lie `tenants` apart. */
  readonly webhookIds: readonly string[];
  readonly tenants: number;
}

export interface HistoryShape {
  readonly deliveries: number;
  /** A multiple of 500, which are ten of each tenant. */
  readonly webhooks: number;
  /** Encrypts the signing key of a webhook as the server does that reads it. */
  readonly secretBox: Pick<SecretBox, "seal" | "digest">;
  /** The history ends here, and began a day before. Unix milliseconds. */
  readonly endsAt: number;
}

const dayMinutes = 1_440;
const minuteMs = 60_000;
const tenants = 50;
/** In one minute a few webhooks get much, as receivers do whose customers are awake. */
const activeGroupsPerMinute = 20;
/** An event goes to the webhooks of one group, which are of one tenant. */
const fanOut = 10;
const deliveriesPerCommit = 2_000;
const savers = 16;
const writer = 2 ** 47 + 1;
const dayMs = 86_400_000;

const eventTypes = ["order.paid", "order.sent", "user.updated", "invoice.made", "stock.low"] as const;
const nothing = { publishes: [], requeues: [], retries: [], settlements: [], webhookStates: [] };
const body = new TextEncoder().encode(
  JSON.stringify({ type: "order.paid", data: { text: "x".repeat(300) } }),
);

/** Of 1,000 deliveries 2 are dead letters and 4 wait for another attempt, tomorrow. */
const ends = {
  dead: { state: "exhausted", outcome: "terminal", category: "client_error", statusCode: 422 },
  failed: { state: "failed", outcome: "transient", category: "server_error", statusCode: 503 },
  accepted: { state: "success", outcome: "accepted", category: null, statusCode: 200 },
} as const;

/**
 * Writes the beginning of a day through the store's own commits, so that every column, counter and bucket is as a server
 * leaves it: webhooks, events, deliveries, attempts and statistics, all of them settled. After one block each webhook got
 * something; the rest of the day are copies of that block (sqlite-copies.ts, postgres-copies.ts).
 */
export class HistoryLoader {
  readonly #store: Store;
  readonly #shape: HistoryShape;
  readonly #buckets = new OpenBuckets(500);
  readonly #webhookIds: readonly string[];
  readonly #block: HistoryBlock;
  readonly #groupsPerMinute: number;
  #made = 0;
  #commits = 0;

  constructor(store: Store, shape: HistoryShape) {
    this.#store = store;
    this.#shape = shape;
    this.#webhookIds = Array.from({ length: shape.webhooks }, () => this.#newId(shape.endsAt - dayMs));
    const { deliveries, webhooks } = shape;
    const eventsPerMinute = Math.ceil(deliveries / dayMinutes / fanOut);
    this.#groupsPerMinute = Math.min(activeGroupsPerMinute, eventsPerMinute);
    const blockMinutes = Math.ceil(webhooks / fanOut / this.#groupsPerMinute);
    const blocks = Math.floor(dayMinutes / blockMinutes);
    const spanMs = blockMinutes * minuteMs;
    this.#block = {
      beginsAt: bucketAt(shape.endsAt, "minute") - blocks * spanMs,
      spanMs,
      copies: blocks - 1,
      deliveries: blockMinutes * fanOut * Math.ceil(deliveries / (blocks * blockMinutes * fanOut)),
      webhookIds: this.#webhookIds,
      tenants,
    };
  }

  get block(): HistoryBlock {
    return this.#block;
  }

  async writeBlock(): Promise<void> {
    await this.#saveWebhooks();
    const { beginsAt, spanMs, deliveries } = this.#block;
    const minutes = spanMs / minuteMs;
    for (let minute = 0; minute < minutes; minute += 1)
      await this.#writeMinute(minute, beginsAt + minute * minuteMs, deliveries / minutes);
    await this.#writeStatistics(beginsAt + spanMs + minuteMs);
  }

  /** What stands beside the rows of a whole day. */
  async complete(store: Store): Promise<void> {
    await store.deliveries.commit({ ...nothing, webhookStates: this.#states() });
    const endedBefore = this.#shape.endsAt;
    while ((await store.statistics?.rollUp(endedBefore, 10_000))?.more === true);
  }

  /** Several at a time, so that their commits share flushes of the disk. */
  async #saveWebhooks(): Promise<void> {
    const all = this.#webhookIds.entries();
    const saver = async (): Promise<void> => {
      for (const [index, id] of all) await this.#saveWebhook(id, index);
    };
    await Promise.all(Array.from({ length: savers }, saver));
  }

  async #saveWebhook(id: string, index: number): Promise<void> {
    const { secretBox, endsAt } = this.#shape;
    const events = [`load.n${index % 500}`];
    const url = `https://customer-${index}.example.com/hooks`;
    const plaintext = `whsec_${randomBytes(24).toString("base64")}`;
    const ciphertext = secretBox.seal(plaintext, id);
    const digest = secretBox.digest(plaintext);
    const times = { createdAt: endsAt - dayMs, expiresAt: null };
    const key = { kind: "symmetric", ciphertext, digest, ...times } as const;
    const webhook = newWebhook({ id, tenantId: tenantOf(index), url, events });
    await this.#store.webhooks.save(webhook, { secrets: [key] });
  }

  /** One in ten of each tenant fails since some time of the day. */
  #states(): readonly WebhookRuntimeState[] {
    return this.#webhookIds
      .filter((_, index) => Math.floor(index / tenants) % 10 === 0)
      .map((webhookId, index) => failing(webhookId, this.#shape.endsAt - index * 1_000));
  }

  async #writeMinute(minute: number, begun: number, deliveries: number): Promise<void> {
    for (let from = 0; from < deliveries; from += deliveriesPerCommit) {
      const at = begun + Math.floor((from / deliveries) * minuteMs);
      const events = Math.ceil(Math.min(deliveriesPerCommit, deliveries - from) / fanOut);
      const publishes = Array.from({ length: events }, (_, index) =>
        this.#publish(at, minute * this.#groupsPerMinute + ((from / fanOut + index) % this.#groupsPerMinute)),
      );
      const { publishes: results } = await this.#store.deliveries.commit({ ...nothing, publishes });
      const settlements: Settlement[] = [];
      const facts: Fact[] = [];
      for (const [index, command] of publishes.entries()) {
        const result = results[index];
        const leases = result?.kind === "accepted" ? result.leases : [];
        const { tenantId, eventType } = command.event;
        const receivers = command.deliveries.length;
        facts.push(...publishFacts({ tenantId, eventType, at, deliveries: receivers, skipped: [] }));
        for (const [place, lease] of leases.entries()) {
          const webhookId = command.deliveries[place]?.lane.webhookId ?? "";
          const settlement = this.#settle(lease, at);
          settlements.push(settlement);
          const { progress, attempt } = settlement;
          const settled = { tenantId, webhookId, progress, attempt, settledAt: at + 40, bytes: body.length };
          const fact = settlementFact({ ...settled, isLate: false });
          if (fact !== null) facts.push(fact);
        }
      }
      await this.#store.deliveries.commit({ ...nothing, settlements });
      this.#commits += 1;
      this.#buckets.add(facts, this.#commits, at);
    }
    await this.#writeStatistics(begun + 2 * minuteMs);
  }

  async #writeStatistics(now: number): Promise<void> {
    for (;;) {
      const rows = this.#buckets.take(now, 2_000);
      if (rows.length === 0) break;
      const batch = {
        writer,
        number: this.#commits,
        at: now,
        settled: [],
        published: [],
        rows,
        writtenTo: this.#commits,
        unwritten: { from: 0, since: now },
      };
      await this.#store.deliveries.commit({ ...nothing, statistics: batch });
    }
    this.#buckets.dropWritten(now + minuteMs);
  }

  #publish(at: number, group: number): PublishCommand {
    // Webhooks of one tenant lie `tenants` apart.
    const first = (group % tenants) + Math.floor(group / tenants) * fanOut * tenants;
    const eventType = eventTypes[this.#made % eventTypes.length] ?? "";
    return {
      event: {
        id: this.#newId(at),
        tenantId: tenantOf(group),
        eventType,
        timestamp: at,
        source: "shop",
        idempotencyKey: null,
        fingerprint: null,
        trace: null,
        relayed: null,
        priority: "normal",
        createdAt: at,
        contentType: "application/json",
        raw: false,
        body,
      },
      deliveries: Array.from({ length: fanOut }, (_, index) => {
        const webhookId = this.#webhookIds[(first + index * tenants) % this.#webhookIds.length] ?? "";
        return {
          id: this.#newId(at),
          lane: { webhookId, ordering: "none", eventType: null },
          priority: "normal",
          state: "pending",
          reason: null,
          dueAt: at,
          createdAt: at,
          origin: "publish",
          format: "standard",
          claim: true,
          leaseUntil: at + minuteMs,
        } as const;
      }),
      dedupUntil: null,
    };
  }

  #settle(lease: Lease, at: number): Settlement {
    const number = this.#made;
    this.#made += 1;
    const { state, ...seen } = ends[endOf(number)];
    const isAccepted = state === "success";
    return {
      lease,
      settledAt: at + 40,
      progress: {
        state,
        attemptCount: 1,
        createdAt: at,
        firstAttemptAt: at,
        dueAt: state === "failed" ? this.#shape.endsAt + dayMs : at,
        reason: isAccepted ? null : "permanent_client_error_422",
        retried: null,
      },
      attempt: {
        id: this.#newId(at),
        number: 1,
        ...seen,
        receiverStateUnknown: false,
        errorMessage: null,
        responseSample: isAccepted ? "ok" : "refused by rule 7",
        durationMs: 20 + (number % 80),
        scheduledAt: at,
        executedAt: at,
        nextRetryAt: null,
        notes: null,
      },
    };
  }

  /** UUIDv7 of that time. */
  #newId(at: number): string {
    const time = at.toString(16).padStart(12, "0");
    const rest = randomBytes(8).toString("hex");
    return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${rest.slice(4)}`;
  }
}

function failing(webhookId: string, lastFailedAt: number): WebhookRuntimeState {
  const health = { ...createHealth(), failingSince: lastFailedAt - 1_000, lastFailedAt };
  return {
    webhookId,
    pausedUntil: null,
    pauseReason: null,
    lastSuccessAt: null,
    circuit: null,
    health: JSON.stringify(health),
  };
}

function endOf(number: number): keyof typeof ends {
  if (number % 500 === 0) return "dead";
  return number % 250 === 1 ? "failed" : "accepted";
}

export const tenantIds: readonly string[] = Array.from({ length: tenants }, (_, index) => tenantOf(index));

function tenantOf(index: number): string {
  return `tenant-${index % tenants}`;
}
