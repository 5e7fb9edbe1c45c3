import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { Meter } from "../store/meter.ts";
import { laneOf, StoreWork, storeWorkStartAt } from "../store/store-work.ts";

// What the embedded store costs per delivery, without an engine. Run: node bench/micro/store.ts [DATA_DIR]
// Budgets: batches of 200: publish 12 µs, settle 4.5 µs, claim 4 µs with a body of 1 KiB.

async function publishAndSettle(work: StoreWork, batch: number, total: number): Promise<void> {
  const publishing = new Meter();
  const settling = new Meter();
  for (let done = 0; done < total; done += batch) {
    const commands = work.publications(batch, { claim: true });
    const { publishes } = await publishing.add(batch, () => work.publish(commands));
    const settlements = work.successes(
      publishes.flatMap((each) => (each.kind === "accepted" ? each.leases : [])),
    );
    await settling.add(batch, () => work.settle(settlements));
  }
  console.log(`batch ${String(batch).padStart(4)}   publish ${text(publishing)}   settle ${text(settling)}`);
}

async function claimAndSettle(
  work: StoreWork,
  run: { readonly perLane: number; readonly total: number },
): Promise<void> {
  const claiming = new Meter();
  const settling = new Meter();
  while (claiming.units < run.total) {
    const requests = work.claims(run);
    const leases = await claiming.add(
      (claimed) => claimed.length,
      () => work.claim(requests),
    );
    if (leases.length === 0) break;
    for (let from = 0; from < leases.length; from += settledAtOnce) {
      const settlements = work.successes(leases.slice(from, from + settledAtOnce));
      await settling.add(settlements.length, () => work.settle(settlements));
    }
  }
  console.log(
    `  ${run.perLane} per lane: claim ${text(claiming)}   settle from the lane ${text(settling)}   (${claiming.units} rows)`,
  );
}

/** Leases everything that waits and keeps it, to see what leases cost. */
async function holdLeases(work: StoreWork, leasesMax: number): Promise<void> {
  const before = process.memoryUsage().heapUsed;
  let held = 0;
  for (let grew = true; grew && held < leasesMax; ) {
    const leases = await work.claim(work.claims({ perLane: 1_000 }));
    grew = leases.length > 0;
    held += leases.length;
  }
  globalThis.gc?.();
  const grewBytes = process.memoryUsage().heapUsed - before;
  console.log(`${held} leases held: ${(grewBytes / held).toFixed(0)} bytes each (exact with --expose-gc)`);
}

async function fill(work: StoreWork, waiting: number): Promise<void> {
  const filling = new Meter();
  for (let done = 0; done < waiting; done += publishedAtOnce) {
    const commands = work.publications(Math.min(publishedAtOnce, waiting - done), { claim: false });
    await filling.add(commands.length, () => work.publish(commands));
  }
  console.log(`filled with ${waiting} waiting, publish without a lease ${text(filling)}`);
}

/** Microseconds a unit. */
function text(meter: Meter): string {
  return `${meter.us.toFixed(2)} (cpu ${meter.cpuUs.toFixed(2)}, slowest call ${meter.slowestMs.toFixed(0)} ms)`;
}

function memory(): string {
  const { rss, heapUsed } = process.memoryUsage();
  return `resident ${(rss / 2 ** 20).toFixed(0)} MiB, heap ${(heapUsed / 2 ** 20).toFixed(0)} MiB`;
}

const settledAtOnce = 200;
const publishedAtOnce = 1_000;
const dataDir = await mkdtemp(join(process.argv[2] ?? tmpdir(), "posthorn-bench-"));
const open = () => openSqliteStore({ dataDir, now: storeWorkStartAt, pid: process.pid });
try {
  let store = await open();
  const work = new StoreWork(store, 100);
  await publishAndSettle(work, 200, 20_000); // warm up
  console.log("µs per delivery, wall clock");
  await publishAndSettle(work, 200, 40_000);
  await publishAndSettle(work, 20, 10_000);
  await publishAndSettle(work, 1, 1_000);
  for (const waiting of [1_000, 1_000_000]) {
    await fill(work, waiting);
    for (const perLane of [1, 5])
      await claimAndSettle(work, { perLane, total: Math.min(waiting / 2, 5_000) });
    console.log(`  ${memory()}`);
  }
  await holdLeases(work, 300_000);
  const listing = new Meter();
  const page = { limit: 50, before: null, offset: 0 };
  const anyDelivery = { eventId: null, states: null, from: null, to: null, page };
  const { history } = store;
  for (const webhookId of [null, laneOf(3).webhookId]) {
    for (const tenantId of [null, "default"]) {
      await listing.add(1, () => history.listDeliveries({ ...anyDelivery, webhookId, tenantId }));
    }
  }
  console.log(`history page of 50, µs: ${text(listing)}`);
  await store.close();
  const reopening = new Meter();
  store = await reopening.add(1, open);
  const lanes = new Meter();
  await lanes.add(1, () => store.deliveries.lanesWithWork({ after: null, limit: 500 }));
  console.log(`reopen µs: ${text(reopening)}, lanes with work ${text(lanes)}, ${memory()}`);
  await store.close();
} finally {
  await rm(dataDir, { recursive: true });
}
