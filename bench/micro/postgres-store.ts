import { openPostgresStore } from "../../src/adapters/store/postgres/open.ts";
import type { Store } from "../../src/ports/store.ts";
import type { ClaimRequest, Lease, PublishCommand, Settlement } from "../../src/ports/store/deliveries.ts";
import {
  createTestDatabase,
  type TestDatabase,
} from "../../test/conformance/store/postgres-database.fixture.ts";

// What the PostgreSQL store does per second, without an engine, and whether a backlog slows claims.
// Run: node bench/micro/postgres-store.ts [--backlog 1000000] [--prepared]

const bodyBytes = 1_024;
const webhooks = 100;
const leaseMs = 60_000;
const startAt = Date.UTC(2026, 0, 1);

const backlog = Number(process.argv[process.argv.indexOf("--backlog") + 1]) || 1_000_000;
const preparedStatements = process.argv.includes("--prepared");

const body = new Uint8Array(bodyBytes).fill(120);
let now = startAt;
let ids = 0;

/** UUIDv7: about thirty a millisecond, random within it, as a busy publisher makes them. */
function newId(): string {
  ids += 1;
  const time = (startAt + Math.floor(ids / 30)).toString(16).padStart(12, "0");
  const low = ((ids * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${low.slice(0, 3)}-8${low.slice(3, 6)}-${low}${low.slice(0, 4)}`;
}

function laneOf(webhook: number): { webhookId: string; ordering: "none"; eventType: null } {
  return { webhookId: `webhook-${webhook}`, ordering: "none", eventType: null };
}

function publication(index: number, claim: boolean): PublishCommand {
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
        lane: laneOf(index % webhooks),
        priority: "normal",
        state: "pending",
        dueAt: now,
        createdAt: now,
        origin: "publish",
        format: "standard",
        claim,
        leaseUntil: now + leaseMs,
      },
    ],
    dedupUntil: null,
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

/** Units per second of wall clock, and how much of it this process was busy. */
class Meter {
  #wallMs = 0;
  #cpuUs = 0;
  #units = 0;

  async add<Result>(units: number, work: () => Promise<Result>): Promise<Result> {
    const cpu = process.cpuUsage();
    const begun = performance.now();
    const result = await work();
    this.#wallMs += performance.now() - begun;
    const used = process.cpuUsage(cpu);
    this.#cpuUs += used.user + used.system;
    this.#units += units;
    return result;
  }

  get perSecond(): number {
    return (this.#units * 1_000) / this.#wallMs;
  }

  get text(): string {
    return `${Math.round(this.perSecond)}/s (${(this.#cpuUs / this.#units).toFixed(1)} µs here)`;
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
    const commands = Array.from({ length: run.batch }, (_, offset) => publication(done + offset, true));
    const { publishes } = await publishing.add(run.batch, () => commit(store, commands, []));
    const leases = publishes.flatMap((each) => (each.kind === "accepted" ? each.leases : []));
    const settlements = leases.map(success);
    await settling.add(run.batch, () => commit(store, [], settlements));
  }
  console.log(`batch ${String(run.batch).padStart(4)}: publish ${publishing.text}, settle ${settling.text}`);
}

function requests({
  lanes,
  limit,
}: {
  readonly lanes: number;
  readonly limit: number;
}): readonly ClaimRequest[] {
  return Array.from({ length: lanes }, (_, webhook) => ({
    lane: laneOf(webhook),
    now,
    limit,
    bodyBytesMax: 1e9,
    leaseUntil: now + leaseMs,
  }));
}

/** Claims and settles what it claimed, so that what waits changes little. */
async function claimAndSettle(
  store: Store,
  run: { readonly lanes: number; readonly perLane: number; readonly total: number },
): Promise<number> {
  const claiming = new Meter();
  const settling = new Meter();
  let done = 0;
  while (done < run.total) {
    const asked = requests({ lanes: run.lanes, limit: run.perLane });
    const results = await claiming.add(0, () => store.deliveries.claim(asked));
    const leases = results.flatMap(({ deliveries }) => deliveries.map(({ lease }) => lease));
    if (leases.length === 0) break;
    await claiming.add(leases.length, async () => undefined);
    for (let from = 0; from < leases.length; from += 500) {
      const settlements = leases.slice(from, from + 500).map(success);
      await settling.add(settlements.length, () => commit(store, [], settlements));
    }
    done += leases.length;
  }
  console.log(
    `  ${run.lanes} lanes × ${run.perLane}: claim ${claiming.text}, settle ${settling.text} (${done} rows)`,
  );
  return claiming.perSecond;
}

async function fill(store: Store, waiting: number): Promise<void> {
  const filling = new Meter();
  for (let done = 0; done < waiting; done += 1_000) {
    now += 5;
    const commands = Array.from({ length: Math.min(1_000, waiting - done) }, (_, offset) =>
      publication(done + offset, false),
    );
    await filling.add(commands.length, () => commit(store, commands, []));
  }
  console.log(`${waiting} more waiting, published without a lease: ${filling.text}`);
}

async function measureClaims(store: Store, database: TestDatabase): Promise<readonly number[]> {
  // Where autovacuum is switched off, as on some test servers, nobody else does it.
  await database.query("VACUUM ANALYZE");
  return [
    await claimAndSettle(store, { lanes: 100, perLane: 5, total: 10_000 }),
    await claimAndSettle(store, { lanes: 10, perLane: 100, total: 10_000 }),
  ];
}

const database = await createTestDatabase();
const masterKeyIds = { current: "bench", previous: [] };
const store = await openPostgresStore({ url: database.url, now, masterKeyIds, preparedStatements });
try {
  await publishAndSettle(store, { batch: 200, total: 20_000 });
  console.log(`bodies of ${bodyBytes} bytes, ${preparedStatements ? "prepared" : "unprepared"} statements`);
  for (const batch of [1, 20, 200, 1_000])
    await publishAndSettle(store, { batch, total: Math.min(40_000, batch * 400) });
  await fill(store, 25_000);
  const few = await measureClaims(store, database);
  await fill(store, backlog);
  const many = await measureClaims(store, database);
  const ratios = few.map((perSecond, index) => ((many[index] ?? 0) / perSecond).toFixed(2));
  console.log(`claims with ${backlog} waiting, as a share of the rate with a few: ${ratios.join(", ")}`);
} finally {
  await store.close();
  await database.drop();
}
