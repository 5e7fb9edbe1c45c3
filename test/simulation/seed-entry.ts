/** The worker thread of `SeedThread`: receives a seed and returns the result of its world. */
import { parentPort } from "node:worker_threads";
import type { SeedRequest } from "./seed-thread.ts";
import { simulate } from "./simulate.ts";
import { modelDisk, sqliteDisk } from "./stores.ts";

const disks = { model: modelDisk, sqlite: sqliteDisk };

parentPort?.on("message", ({ seed, disk }: SeedRequest) => {
  void simulate({ seed, disk: disks[disk] }).then((result) => parentPort?.postMessage(result));
});
