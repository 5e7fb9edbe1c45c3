import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import type { Store } from "../../src/ports/store.ts";
import type { NewEvent, PublishCommand, Settlement } from "../../src/ports/store/deliveries.ts";
import { type DeliveryFilter, type DeliverySearch, everyDelivery } from "../../src/ports/store/search.ts";
import { SearchBudget } from "../../src/ports/timing/search-budget.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { systemClock } from "../../src/system/clock.ts";
import { createTestDatabase } from "../../test/conformance/store/postgres-database.fixture.ts";

// What the first page of each search costs in a long history, and how long it holds the event loop.
// Run: node bench/micro/searches.ts [--rows 1000000] [--store sqlite|postgres] [--folder FOLDER]

const startAt = Date.UTC(2026, 0, 1);
const perCommit = 1_000;
const webhookCount = 100;
const body = new TextEncoder().encode(
  JSON.stringify({ type: "order.paid", data: { text: "x".repeat(700) } }),
);

/** Common, rare, and what there is none of. */
const questions: Readonly<Record<string, Partial<DeliveryFilter> & Partial<Pick<DeliverySearch, "order">>>> =
  {
    "everything": {},
    "everything, oldest first": { order: "oldest" },
    "a tenant": { tenantId: "tenant-3" },
    "a webhook": { webhookIds: ["webhook-7"] },
    "20 webhooks": { webhookIds: Array.from({ length: 20 }, (_, index) => `webhook-${index}`) },
    "a webhook that has one": { webhookIds: ["webhook-rare"] },
    "failed": { states: ["failed"] },
    "failed of a webhook": { states: ["failed"], webhookIds: ["webhook-50"] },
    "what waits, by next attempt": { order: "next_attempt" },
    "exhausted": { states: ["exhausted"] },
    "never skipped": { states: ["skipped"] },
    "status 422": { httpStatuses: { codes: [422], classes: [], none: false } },
    "status 418, never": { httpStatuses: { codes: [418], classes: [], none: false } },
    "text of an error": { errorText: "refused by rule" },
    "text of no error": { errorText: "never written" },
    "type order.*": { eventTypes: ["order.*"] },
    "type rare.*": { eventTypes: ["rare.*"] },
    "an hour in the middle": { from: startAt + 12 * 3_600_000, to: startAt + 13 * 3_600_000 },
    "a rare type in an hour": {
      eventTypes: ["rare.*"],
      from: startAt + 12 * 3_600_000,
      to: startAt + 13 * 3_600_000,
    },
    "an idempotency key": { idempotencyKey: "key-1" },
  };

function id(number: number): string {
  const time = startAt.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${number.toString(16).padStart(12, "0")}`;
}

function command(index: number, total: number): PublishCommand {
  const isRare = index === 10;
  const createdAt = startAt + Math.floor((index / total) * 86_400_000);
  const event: NewEvent = {
    id: id(2 * index),
    tenantId: `tenant-${index % 10}`,
    eventType: isRare ? "rare.event" : (["order.paid", "user.updated"][index % 2] ?? ""),
    timestamp: createdAt,
    source: null,
    idempotencyKey: index % 100 === 1 ? `key-${index}` : null,
    fingerprint: null,
    priority: "normal",
    createdAt,
    contentType: "application/json",
    trace: null,
    relayed: null,
    raw: false,
    body,
  };
  const webhookId = isRare ? "webhook-rare" : `webhook-${index % webhookCount}`;
  const lane = { webhookId, ordering: "none", eventType: null } as const;
  return {
    event,
    deliveries: [
      {
        id: id(2 * index + 1),
        lane,
        priority: "normal",
        state: "pending",
        reason: null,
        dueAt: createdAt,
        createdAt,
        origin: "publish",
        format: "standard",
        claim: true,
        leaseUntil: createdAt + 60_000,
      },
    ],
    dedupUntil: event.idempotencyKey === null ? null : createdAt + 86_400_000,
  };
}

type Outcome = Pick<Settlement, "progress" | "attempt">;

const ends = {
  dead: {
    state: "exhausted",
    outcome: "terminal",
    category: "client_error",
    statusCode: 422,
    responseSample: "refused by rule 7",
  },
  failed: {
    state: "failed",
    outcome: "transient",
    category: "server_error",
    statusCode: 503,
    responseSample: "busy",
  },
  accepted: { state: "success", outcome: "accepted", category: null, statusCode: 200, responseSample: "ok" },
} as const;

function endOf(index: number): keyof typeof ends {
  if (index % 500 === 0) return "dead";
  return index % 250 === 50 ? "failed" : "accepted";
}

function outcome(index: number, createdAt: number): Outcome {
  const { state, ...attempt } = ends[endOf(index)];
  return {
    progress: {
      state,
      attemptCount: 1,
      createdAt,
      firstAttemptAt: createdAt,
      dueAt: createdAt + index,
      reason: null,
      retried: null,
    },
    attempt: {
      id: id(2 * index + 1),
      number: 1,
      ...attempt,
      receiverStateUnknown: false,
      errorMessage: null,
      durationMs: 12,
      scheduledAt: createdAt,
      executedAt: createdAt,
      nextRetryAt: null,
      notes: null,
    },
  };
}

async function load(store: Store, rows: number): Promise<void> {
  const begun = performance.now();
  for (let from = 0; from < rows; from += perCommit) {
    const publishes = Array.from({ length: perCommit }, (_, offset) => command(from + offset, rows));
    const empty = { publishes: [], requeues: [], retries: [], settlements: [], webhookStates: [] };
    const { publishes: results } = await store.deliveries.commit({ ...empty, publishes });
    const settlements = results.flatMap((result, offset): Settlement[] => {
      const [lease] = result.kind === "accepted" ? result.leases : [];
      const createdAt = publishes[offset]?.event.createdAt ?? 0;
      return lease === undefined
        ? []
        : [{ lease, settledAt: createdAt, ...outcome(from + offset, createdAt) }];
    });
    await store.deliveries.commit({ ...empty, settlements });
  }
  console.log(`${rows} deliveries loaded in ${Math.round((performance.now() - begun) / 1_000)} s`);
}

async function measure(store: Store): Promise<number> {
  let worstMs = 0;
  for (const [name, { order = "newest", ...filter }] of Object.entries(questions)) {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const budget = new SearchBudget(systemClock, { rowsMax: 500_000, durationMsMax: 200 });
    const begun = performance.now();
    const page = await store.history.searchDeliveries({
      filter: { ...everyDelivery, ...filter },
      order,
      after: null,
      limit: 50,
      budget,
    });
    const tookMs = performance.now() - begun;
    delay.disable();
    worstMs = Math.max(worstMs, tookMs);
    const end = page.isCutShort ? `searched to ${new Date(page.searchedTo ?? 0).toISOString()}` : "";
    const stop = Math.max(0, delay.max / 1e6 - 1);
    console.log(
      `${name.padEnd(30)} ${tookMs.toFixed(1).padStart(7)} ms, longest stop ${stop.toFixed(1).padStart(5)} ms, ${String(page.rows.length).padStart(3)} rows ${end}`,
    );
  }
  return worstMs;
}

async function run(name: string, open: () => Promise<Store>, rows: number): Promise<void> {
  console.log(name);
  const first = await open();
  await load(first, rows);
  await first.close();
  const store = await open();
  try {
    const coldMs = await measure(store);
    console.log("again");
    const warmMs = await measure(store);
    console.log(
      `${name}: the slowest page took ${coldMs.toFixed(0)} ms, the second time ${warmMs.toFixed(0)} ms`,
    );
  } finally {
    await store.close();
  }
}

const { values: options } = parseArgs({
  options: {
    rows: { type: "string", default: "1000000" },
    store: { type: "string", default: "both" },
    folder: { type: "string", default: tmpdir() },
  },
});
const rows = Number(options.rows);
const which = options.store;
if (which !== "postgres") {
  const dataDir = await mkdtemp(join(options.folder, "posthorn-searches-"));
  try {
    await run("sqlite", () => openSqliteStore({ dataDir, now: startAt, pid: process.pid }), rows);
  } finally {
    await rm(dataDir, { recursive: true });
  }
}
if (which !== "sqlite") {
  const database = await createTestDatabase();
  try {
    const masterKeyIds = { current: "bench", previous: [] };
    const { url } = database;
    await run("postgres", () => openPostgresStore({ url, now: startAt, masterKeyIds }), rows);
  } finally {
    await database.drop();
  }
}
