/**
 * The thread of checkpointer.ts: copies committed pages from the WAL into the database, beside the thread that writes.
 * A passive checkpoint waits for nobody and holds nobody up.
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
    // The writer goes on without; past its own bound it checkpoints by itself and meets the error where it is told.
  }
  parentPort?.postMessage("done");
});
