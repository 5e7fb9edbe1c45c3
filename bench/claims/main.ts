// Two stores in a process of its own, without an engine: `node bench/claims/main.ts`, driven by rows/claims.ts.

import type { Store } from "../../src/ports/store.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { serveCalls } from "../process/serve-calls.ts";
import { type ClaimRates, type ClaimStores, compareClaims } from "../store/compare-claims.ts";
import { StoreWork, storeWorkStartAt } from "../store/store-work.ts";

/** Where one of the stores is: a database, or a data folder. */
export interface ClaimsPlace {
  readonly kind: "postgres" | "sqlite";
  readonly at: string;
}

const lanes = 100;
/** With one delivery a lane the rest of a claim would be measured. */
const perLane = 5;
let stores: ClaimStores | null = null;
const opened: Store[] = [];

async function open(places: Readonly<Record<keyof ClaimStores, ClaimsPlace>>): Promise<void> {
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

function both(): ClaimStores {
  if (stores === null) throw new Error("open comes first");
  return stores;
}

async function park(waiting: Readonly<Record<keyof ClaimStores, number>>): Promise<void> {
  await both().few.park(waiting.few);
  await both().many.park(waiting.many);
}

function compare({ rounds }: { readonly rounds: number }): Promise<ClaimRates> {
  return compareClaims(both(), rounds, perLane);
}

async function close(): Promise<void> {
  for (const store of opened) await store.close();
}

serveCalls({ open, park, compare, close });
