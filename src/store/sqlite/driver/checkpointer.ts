import type { DatabaseSync, StatementSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import type { TransactionListener } from "./connection.ts";

/**
 * Keeps the WAL short without delaying event processing. A separate thread copies most pages into the database; then the
 * writer copies the few that were added since, which lets the WAL restart.
 *
 * The thread starts when the WAL first becomes long, so an idle deployment never has it. If it cannot be started or
 * falls behind, SQLite's own checkpoint inside a commit (`walPagesMax` in connection.ts) still bounds the file.
 *
 * Errors here must not fail a caller, because all copied data is already committed. After an error (such as a full disk
 * or a file that cannot be opened) it pauses for some commits and retries; commits report the same cause.
 */
export class Checkpointer implements TransactionListener {
  readonly #file: string;
  readonly #state: StatementSync;
  readonly #finish: StatementSync;
  #worker: Worker | null = null;
  #commits = 0;
  /** Number of commits at which the pause ends and the WAL is checked again. */
  #restsUntil = 0;
  #running = false;
  #rounds = 0;
  #closed = false;

  constructor(db: DatabaseSync, file: string) {
    this.#file = file;
    this.#state = db.prepare("PRAGMA wal_checkpoint(NOOP)");
    this.#finish = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  }

  afterCommit(): void {
    this.#commits += 1;
    if (this.#running || this.#closed || this.#commits % commitsPerLook !== 0) return;
    if (this.#commits >= this.#restsUntil)
      this.#try(() => {
        if (this.#pagesLeft() >= pagesPerRound) this.#ask();
      });
  }

  /** Ends the thread; resolves when its connection is closed. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    this.#closed = true;
    if (worker === null) return;
    const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    worker.postMessage("close");
    await ended;
  }

  #try(step: () => void): void {
    try {
      step();
    } catch {
      this.#rest();
    }
  }

  #rest(): void {
    this.#running = false;
    this.#rounds = 0;
    this.#restsUntil = this.#commits + commitsOfRest;
  }

  #ask(): void {
    this.#worker ??= this.#start();
    this.#running = true;
    this.#worker.postMessage("checkpoint");
  }

  #start(): Worker {
    // Source and compiled files are in the same folder and differ in their extension.
    const ending = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
    const worker = new Worker(new URL(`./checkpoint-worker${ending}`, import.meta.url), {
      workerData: { file: this.#file },
    });
    worker.on("message", () => this.#try(() => this.#roundDone()));
    // The "exit" event follows and is handled below.
    worker.on("error", () => undefined);
    worker.on("exit", () => {
      if (this.#worker !== worker) return;
      this.#worker = null;
      this.#rest();
    });
    return worker;
  }

  #roundDone(): void {
    this.#running = false;
    if (this.#closed) return;
    this.#rounds += 1;
    if (this.#pagesLeft() > pagesToFinish && this.#rounds < roundsMax) {
      this.#ask();
      return;
    }
    this.#rounds = 0;
    this.#finish.get();
  }

  /** Number of pages in the WAL that are not in the database yet. */
  #pagesLeft(): number {
    const state = this.#state.get() as { readonly log: number; readonly checkpointed: number };
    return state.log - state.checkpointed;
  }
}

/** A check costs two microseconds. */
const commitsPerLook = 16;
/** Pause after an error, in commits. */
const commitsOfRest = 256;
/** 16 MiB with pages of 8 KiB. */
const pagesPerRound = 2048;
/** The writer copies this many pages in a few milliseconds. */
const pagesToFinish = 512;
const roundsMax = 4;
