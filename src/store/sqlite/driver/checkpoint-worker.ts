/**
 * The thread of checkpointer.ts: copies committed pages from the WAL into the database, in parallel with the writing
 * thread. A passive checkpoint neither waits nor blocks.
 */
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

const { file } = workerData as { readonly file: string };
const db = new DatabaseSync(file, { timeout: 0 });
db.exec("PRAGMA wal_autocheckpoint = 0");
db.exec("PRAGMA synchronous = FULL");
const checkpoint = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");

parentPort?.on("message", (message: "checkpoint" | "close") => {
  if (message === "close") {
    db.close();
    parentPort?.close();
    return;
  }
  try {
    checkpoint.get();
  } catch {
    // The writer continues without the checkpoint. Beyond its own limit, it runs a checkpoint itself and reports the
    // same error.
  }
  parentPort?.postMessage("done");
});
