import { Worker } from "node:worker_threads";
import type { Finding } from "../check/finding.ts";
import type { Settings } from "../config/options.ts";
import { PosthornError } from "../domain/errors.ts";
import type { ExamineReceiver } from "../http/context.ts";

/** A reserved name (RFC 2606), for a system without a configured name. */
const unnamed = "posthorn.invalid";

/** The DNS name by which Posthorn identifies itself to receivers, in handshakes and deliveries. */
export function requestOriginOf({ origin, publicUrl }: Pick<Settings, "origin" | "publicUrl">): string {
  if (origin !== null) return origin;
  const hostname = publicUrl === null ? "" : new URL(publicUrl).hostname;
  // An IP address does not qualify as the name of the system.
  const isName = hostname.includes(".") && /[a-z]$/.test(hostname);
  return isName ? hostname : unnamed;
}

/** Parameters for starting the thread. */
export interface ExaminerSettings {
  readonly egressAllow: readonly string[];
  readonly allowLoopback: boolean;
  readonly requestOrigin: string;
}

export interface Examination {
  readonly id: number;
  readonly target: Parameters<ExamineReceiver>[0];
  readonly allowValid: boolean;
}

/** `detail` is a sentence for the caller or, for internal errors, for the log. */
export type ExaminationResult =
  | { readonly id: number; readonly findings: readonly Finding[] }
  | { readonly id: number; readonly problem: "conflict" | "internal"; readonly detail: string };

/**
 * Runs `posthorn check` on the server, restricted to receivers to which webhooks may be sent. Each resolved IP address
 * is checked as it is for a delivery. Null if requests must use a proxy, which the check does not support.
 */
export function receiverExaminer(settings: Settings): ExamineReceiver | null {
  if (settings.egressProxy !== null) return null;
  const examiner = new Examiner({
    egressAllow: settings.egressAllow,
    allowLoopback: settings.dev,
    requestOrigin: requestOriginOf(settings),
  });
  return async (target, { allowValid }) => {
    const result = await examiner.examine(target, allowValid);
    if ("findings" in result) return result.findings.flatMap(shown);
    const isOurs = result.problem === "internal";
    throw new PosthornError(
      isOurs ? "internal_error" : "conflict",
      isOurs ? `the check failed: ${result.detail}` : result.detail,
    );
  };
}

function shown({ id, title, level, state, detail, hint }: Finding): readonly object[] {
  if (state === "not_applicable") return [];
  return [{ id, title, level, state, detail, hint: state === "failed" ? hint : null }];
}

const idleMsMax = 30_000;
const heapMbMax = 192;

/**
 * One thread runs all checks of the process. It is started on demand and ended after some idle time. A check sends
 * megabytes and reads arbitrary responses, so it runs neither on the event loop nor on the delivery threads.
 */
class Examiner {
  readonly #settings: ExaminerSettings;
  readonly #waiting = new Map<number, PromiseWithResolvers<ExaminationResult>>();
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | null = null;
  #lastId = 0;

  constructor(settings: ExaminerSettings) {
    this.#settings = settings;
  }

  examine(target: Examination["target"], allowValid: boolean): Promise<ExaminationResult> {
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<ExaminationResult>();
    this.#waiting.set(id, waiting);
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#worker.postMessage({ id, target, allowValid } satisfies Examination);
    return waiting.promise;
  }

  #start(): Worker {
    // Source and compiled files are in the same folder as this file, with the same extension.
    const ending = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
    const worker = new Worker(new URL(`./examiner-entry${ending}`, import.meta.url), {
      workerData: this.#settings,
      name: "examiner",
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
    });
    worker.on("message", (result: ExaminationResult) => {
      this.#waiting.get(result.id)?.resolve(result);
      this.#waiting.delete(result.id);
      if (this.#waiting.size === 0) this.#rest(worker);
    });
    worker.on("error", () => this.#lost(worker));
    worker.on("exit", () => this.#lost(worker));
    return worker;
  }

  #rest(worker: Worker): void {
    worker.unref();
    this.#idle = setTimeout(() => {
      if (this.#worker === worker) this.#worker = null;
      void worker.terminate();
    }, idleMsMax);
    this.#idle.unref();
  }

  #lost(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    for (const [id, { resolve }] of this.#waiting)
      resolve({ id, problem: "internal", detail: "the thread that runs the check exited" });
    this.#waiting.clear();
  }
}
