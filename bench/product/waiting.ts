import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { machineMs } from "../process/serve-calls.ts";

/**
 * Machine time at which no more than `left` deliveries wait, everything else settled and committed. Reads the product's
 * file from outside: what is seen here has been committed, whatever the product says.
 */
export async function committed(dataDir: string, left: number): Promise<number> {
  const db = new DatabaseSync(join(dataDir, "posthorn.db"), { readOnly: true });
  const query = db.prepare("SELECT waiting_high + waiting_normal + waiting_low AS waiting FROM tally");
  try {
    for (let tries = 0; tries < triesMax; tries += 1) {
      if (Number(query.get()?.["waiting"]) <= left) return machineMs();
      await sleep(pollMs);
    }
    throw new Error(`deliveries still wait: ${String(query.get()?.["waiting"])}, expected ${left}`);
  } finally {
    db.close();
  }
}

/** Every delivery of the file is a success with one attempt. */
export function verifySettled(dataDir: string, total: number): void {
  const db = new DatabaseSync(join(dataDir, "posthorn.db"), { readOnly: true });
  try {
    const settled = db.prepare("SELECT count(*) AS n FROM deliveries WHERE state = ?").get(successCode)?.[
      "n"
    ];
    const attempts = db.prepare("SELECT count(*) AS n FROM attempts").get()?.["n"];
    if (settled !== total || attempts !== total) {
      throw new Error(
        `of ${total} deliveries ${String(settled)} are settled with ${String(attempts)} attempts`,
      );
    }
  } finally {
    db.close();
  }
}

/** As in the store's codes.ts. */
const successCode = 2;
const pollMs = 2;
const triesMax = 15_000;
