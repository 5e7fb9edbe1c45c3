import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { createTestDatabase } from "../../test/conformance/store/postgres-database.fixture.ts";
import { Meter } from "../store/meter.ts";
import { StoreWork, storeWorkBodyBytes, storeWorkStartAt } from "../store/store-work.ts";

// What the PostgreSQL store does per second, without an engine. Whether a backlog slows claims is the row `claims`.
// Run: node bench/micro/postgres-store.ts [--unprepared]

const preparedStatements = process.argv.includes("--unprepared") ? "off" : "auto";

async function publishAndSettle(work: StoreWork, batch: number, total: number): Promise<void> {
  const publishing = new Meter();
  const settling = new Meter();
  for (let done = 0; done < total; done += batch) {
    const commands = work.publications(batch, { claim: true });
    const { publishes } = await publishing.add(batch, () => work.publish(commands));
    const leases = publishes.flatMap((each) => (each.kind === "accepted" ? each.leases : []));
    const settlements = work.successes(leases);
    await settling.add(batch, () => work.settle(settlements));
  }
  console.log(`batch ${String(batch).padStart(4)}: publish ${text(publishing)}, settle ${text(settling)}`);
}

async function claimAndSettle(
  work: StoreWork,
  run: { readonly lanes: number; readonly perLane: number; readonly total: number },
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
  console.log(`  ${run.lanes} lanes × ${run.perLane}: claim ${text(claiming)}, settle ${text(settling)}`);
}

async function fill(work: StoreWork, waiting: number): Promise<void> {
  const filling = new Meter();
  for (let done = 0; done < waiting; done += publishedAtOnce) {
    const commands = work.publications(publishedAtOnce, { claim: false });
    await filling.add(commands.length, () => work.publish(commands));
  }
  console.log(`${waiting} waiting, published without a lease: ${text(filling)}`);
}

function text(meter: Meter): string {
  return `${Math.round(meter.perSecond)}/s (${meter.cpuUs.toFixed(1)} µs here)`;
}

const settledAtOnce = 500;
const publishedAtOnce = 1_000;
const database = await createTestDatabase();
const masterKeyIds = { current: "bench", previous: [] };
const now = storeWorkStartAt;
const store = await openPostgresStore({ url: database.url, now, masterKeyIds, preparedStatements });
const work = new StoreWork(store, 100);
try {
  await publishAndSettle(work, 200, 20_000);
  const statements = preparedStatements === "off" ? "unprepared" : "prepared";
  console.log(`bodies of ${storeWorkBodyBytes} bytes, ${statements} statements`);
  for (const batch of [1, 20, 200, 1_000]) await publishAndSettle(work, batch, Math.min(40_000, batch * 400));
  await fill(work, 25_000);
  // Where autovacuum is switched off, as on some test servers, nobody else does it.
  await database.query("VACUUM ANALYZE");
  await claimAndSettle(work, { lanes: 100, perLane: 5, total: 10_000 });
  await claimAndSettle(work, { lanes: 10, perLane: 100, total: 10_000 });
} finally {
  await store.close();
  await database.drop();
}
