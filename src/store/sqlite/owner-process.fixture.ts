import { claim, lane, publish, start } from "../../../test/conformance/store/scene.fixture.ts";
import { openSqliteStore } from "./open.ts";

// Runs in a separate process for open.test.ts. Holds the folder and a leased delivery until it is killed.
const [dataDir] = process.argv.slice(2);
if (dataDir === undefined) throw new Error("usage: owner-process.fixture.ts DATA_DIR");
const store = await openSqliteStore({ dataDir, now: start, pid: process.pid });
await publish(store);
await claim(store, lane("webhook-1"));
process.send?.("owns");
setInterval(() => void store.ping(), 1_000);
