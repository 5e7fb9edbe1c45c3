import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../src/adapters/store/sqlite/open.ts";
import type { Store } from "../../src/ports/store.ts";
import type {
  ClaimRequest,
  ClaimResult,
  Lease,
  PublishCommand,
  Settlement,
} from "../../src/ports/store/deliveries.ts";

// What the embedded store costs per delivery, without an engine. Run: node bench/micro/store.ts [DATA_DIR]
// Budgets: batches of 200: publish 12 µs, settle 4.5 µs, claim 4 µs with a body of 1 KiB.

const bodyBytes = 1_024;
const webhooks = 100;
const leaseMs = 60_000;
const startAt = Date.UTC(2026, 0, 1);

const body = new Uint8Array(bodyBytes).fill(120);
let now = startAt;
let ids = 0;

/** UUIDv7: about thirty a millisecond, random within it, as a busy publisher makes them. */
function newId(): string {
  ids += 1;
  const time = (startAt + Math.floor(ids / 30)).toString(16).padStart(12, "0");
  // A multiplicative hash stands in for randomness, so that runs are alike.
  const low = ((ids * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${low.slice(0, 3)}-8${low.slice(3, 6)}-${low}${low.slice(0, 4)}`;
}

function publication(
  index: number,
  options: { readonly claim: boolean; readonly webhooks: number },
): PublishCommand {
  return {
    event: {
      id: newId(),
      tenantId: "default",
      eventType: "order.created",
      timestamp: now,
      source: null,
      idempotencyKey: null,
      fingerprint: null,
      priority: "normal",
      createdAt: now,
      contentType: "application/json",
      raw: false,
      body,
    },
    deliveries: [
      {
        id: newId(),
        lane: laneOf(index % options.webhooks),
        priority: "normal",
        state: "pending",
        dueAt: now,
        createdAt: now,
        origin: "publish",
        format: "standard",
        claim: options.claim,
        leaseUntil: now + leaseMs,
      },
    ],
    dedupUntil: null,
  };
}

function laneOf(webhook: number): { webhookId: string; ordering: "none"; eventType: null } {
  return {
    webhookId: `0197f000-0000-7000-8000-${String(webhook).padStart(12, "0")}`,
    ordering: "none",
    eventType: null,
  };
}

function success(lease: Lease): Settlement {
  return {
    lease,
    settledAt: now,
    progress: {
      state: "success",
      attemptCount: 1,
      createdAt: now,
      firstAttemptAt: now,
      dueAt: now,
      reason: null,
    },
    attempt: {
      id: newId(),
      number: 1,
      outcome: "accepted",
      receiverStateUnknown: false,
      category: null,
      statusCode: 200,
      responseSample: "ok",
      errorMessage: null,
      durationMs: 12,
      scheduledAt: now,
      executedAt: now,
      nextRetryAt: null,
    },
  };
}

/** Microseconds per unit of work, wall clock and processor. */
class Meter {
  #wallMs = 0;
  #cpuUs = 0;
  #units = 0;
  #slowestMs = 0;

  async add<Result>(units: number, work: () => Promise<Result>): Promise<Result> {
    const cpu = process.cpuUsage();
    const begun = performance.now();
    const result = await work();
    const tookMs = performance.now() - begun;
    this.#wallMs += tookMs;
    this.#slowestMs = Math.max(this.#slowestMs, tookMs);
    const used = process.cpuUsage(cpu);
    this.#cpuUs += used.user + used.system;
    this.#units += units;
    return result;
  }

  get text(): string {
    return `${((this.#wallMs * 1_000) / this.#units).toFixed(2)} (cpu ${(this.#cpuUs / this.#units).toFixed(2)}, slowest call ${this.#slowestMs.toFixed(0)} ms)`;
  }
}

async function commit(
  store: Store,
  publishes: readonly PublishCommand[],
  settlements: readonly Settlement[],
) {
  return store.deliveries.commit({ publishes, requeues: [], settlements, webhookStates: [] });
}

async function publishAndSettle(
  store: Store,
  run: { readonly batch: number; readonly total: number },
): Promise<void> {
  const publishing = new Meter();
  const settling = new Meter();
  for (let done = 0; done < run.total; done += run.batch) {
    now += 5;
    const commands = Array.from({ length: run.batch }, (_, offset) =>
      publication(done + offset, { claim: true, webhooks }),
    );
    const { publishes } = await publishing.add(run.batch, () => commit(store, commands, []));
    const settlements = publishes.flatMap((each) =>
      each.kind === "accepted" ? each.leases.map(success) : [],
    );
    await settling.add(run.batch, () => commit(store, [], settlements));
  }
  console.log(
    `batch ${String(run.batch).padStart(4)}   publish ${publishing.text}   settle ${settling.text}`,
  );
}

function claimEverywhere(limit: number): readonly ClaimRequest[] {
  return Array.from({ length: webhooks }, (_, webhook) => ({
    lane: laneOf(webhook),
    now,
    limit,
    bodyBytesMax: 1e9,
    leaseUntil: now + leaseMs,
  }));
}

async function claimAndSettle(
  store: Store,
  run: { readonly perLane: number; readonly total: number },
): Promise<void> {
  const claiming = new Meter();
  const settling = new Meter();
  let done = 0;
  while (done < run.total) {
    const requests = claimEverywhere(run.perLane);
    const units = Math.min(run.total - done, run.perLane * webhooks);
    const results = await claiming.add(units, () => store.deliveries.claim(requests));
    const leases = results.flatMap((result: ClaimResult) => result.deliveries.map(({ lease }) => lease));
    if (leases.length === 0) break;
    for (let from = 0; from < leases.length; from += 200) {
      const settlements = leases.slice(from, from + 200).map(success);
      await settling.add(settlements.length, () => commit(store, [], settlements));
    }
    done += leases.length;
  }
  console.log(
    `  ${run.perLane} per lane: claim ${claiming.text}   settle from the lane ${settling.text}   (${done} rows)`,
  );
}

/** Leases everything that waits and keeps it, to see what leases cost. */
async function holdLeases(store: Store, leasesMax: number): Promise<void> {
  const before = process.memoryUsage().heapUsed;
  let held = 0;
  for (let grew = true; grew && held < leasesMax; ) {
    const results = await store.deliveries.claim(claimEverywhere(1_000));
    const count = results.reduce((sum, result) => sum + result.deliveries.length, 0);
    grew = count > 0;
    held += count;
  }
  globalThis.gc?.();
  const grewBytes = process.memoryUsage().heapUsed - before;
  console.log(`${held} leases held: ${(grewBytes / held).toFixed(0)} bytes each (exact with --expose-gc)`);
}

async function fill(
  store: Store,
  fillTo: { readonly waiting: number; readonly webhooks: number },
): Promise<void> {
  const filling = new Meter();
  for (let done = 0; done < fillTo.waiting; done += 1_000) {
    now += 5;
    const commands = Array.from({ length: Math.min(1_000, fillTo.waiting - done) }, (_, offset) =>
      publication(done + offset, { claim: false, webhooks: fillTo.webhooks }),
    );
    await filling.add(commands.length, () => commit(store, commands, []));
  }
  console.log(`filled with ${fillTo.waiting} waiting, publish without a lease ${filling.text}`);
}

function memory(): string {
  const { rss, heapUsed } = process.memoryUsage();
  return `resident ${(rss / 2 ** 20).toFixed(0)} MiB, heap ${(heapUsed / 2 ** 20).toFixed(0)} MiB`;
}

const dataDir = await mkdtemp(join(process.argv[2] ?? tmpdir(), "posthorn-bench-"));
const open = () => openSqliteStore({ dataDir, now, pid: process.pid });
try {
  let store = await open();
  await publishAndSettle(store, { batch: 200, total: 20_000 }); // warm up
  console.log("µs per delivery, wall clock");
  await publishAndSettle(store, { batch: 200, total: 40_000 });
  await publishAndSettle(store, { batch: 20, total: 10_000 });
  await publishAndSettle(store, { batch: 1, total: 1_000 });
  for (const waiting of [1_000, 1_000_000]) {
    await fill(store, { waiting, webhooks });
    for (const perLane of [1, 5])
      await claimAndSettle(store, { perLane, total: Math.min(waiting / 2, 5_000) });
    console.log(`  ${memory()}`);
  }
  await holdLeases(store, 300_000);
  const listing = new Meter();
  const page = { limit: 50, before: null, offset: 0 };
  const anyDelivery = { eventId: null, states: null, from: null, to: null, page };
  const { history } = store;
  for (const webhookId of [null, laneOf(3).webhookId]) {
    for (const tenantId of [null, "default"]) {
      await listing.add(1, () => history.listDeliveries({ ...anyDelivery, webhookId, tenantId }));
    }
  }
  console.log(`history page of 50, µs: ${listing.text}`);
  await store.close();
  const reopening = new Meter();
  store = await reopening.add(1, open);
  const lanes = new Meter();
  await lanes.add(1, () => store.deliveries.lanesWithWork({ after: null, limit: 500 }));
  console.log(`reopen µs: ${reopening.text}, lanes with work ${lanes.text}, ${memory()}`);
  await store.close();
} finally {
  await rm(dataDir, { recursive: true });
}
