// Two stores without an engine, in a separate process: `node bench/store/main.ts`, started by rows/backlog.ts.

import type { Store } from "../../src/ports/store.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { serveCalls } from "../process/serve-calls.ts";
import { StoreWork, storeWorkStartAt } from "./store-work.ts";

/** The location of one of the stores: a database or a data folder. */
export interface ClaimsPlace {
  readonly kind: "postgres" | "sqlite";
  readonly at: string;
}

/** One store with few waiting deliveries and one with many. */
export interface FewAndMany<Value> {
  readonly few: Value;
  readonly many: Value;
}

const lanes = 100;
/** Several deliveries per lane. With only one, the fixed costs of a claim would dominate the measurement. */
const perLane = 5;
const opened: Store[] = [];
let stores: FewAndMany<StoreWork> | null = null;

async function open(places: FewAndMany<ClaimsPlace>): Promise<void> {
  stores = { few: await openOne(places.few), many: await openOne(places.many) };
}

async function openOne({ kind, at }: ClaimsPlace): Promise<StoreWork> {
  const now = storeWorkStartAt;
  const masterKeyIds = { current: "bench", previous: [] };
  const store =
    kind === "postgres"
      ? await openPostgresStore({ url: at, now, masterKeyIds })
      : await openSqliteStore({ dataDir: at, now, pid: process.pid });
  opened.push(store);
  return new StoreWork(store, lanes);
}

function both(): FewAndMany<StoreWork> {
  if (stores === null) throw new Error("open comes first");
  return stores;
}

async function park(waiting: FewAndMany<number>): Promise<void> {
  await both().few.park(waiting.few);
  await both().many.park(waiting.many);
}

/**
 * Measures claims per second in each round for both stores. The store that comes first alternates, because the second
 * one benefits from warm caches.
 */
async function compare({ rounds }: { readonly rounds: number }): Promise<FewAndMany<readonly number[]>> {
  const { few, many } = both();
  const rates = { few: [] as number[], many: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) rates.few.push(await claimOnce(few));
    rates.many.push(await claimOnce(many));
    if (round % 2 === 1) rates.few.push(await claimOnce(few));
  }
  return rates;
}

/**
 * Measures one claim. Afterwards the same number of deliveries is settled and published without timing, so the size of
 * each store stays the same and every claim reads untouched rows.
 */
async function claimOnce(work: StoreWork): Promise<number> {
  const requests = work.claims(perLane);
  const startedAt = performance.now();
  const leases = await work.claim(requests);
  const tookMs = performance.now() - startedAt;
  if (leases.length !== lanes * perLane) throw new Error(`claimed ${leases.length} of ${lanes * perLane}`);
  await work.settle(work.successes(leases));
  await work.publish(work.publications(leases.length));
  return (leases.length * 1_000) / tookMs;
}

async function close(): Promise<void> {
  for (const store of opened) await store.close();
}

const calls = serveCalls({ open, park, compare, close });
export type StoreCalls = typeof calls;
