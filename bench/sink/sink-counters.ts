import { machineMs } from "../process/serve-calls.ts";

/** When the n-th request arrived, as the sink's own clock saw it. */
interface Target {
  readonly count: number;
  readonly reached: (atMs: number) => void;
}

/** What the sink has seen since the last reset. */
export class SinkCounters {
  ok = 0;
  hanging = 0;
  slow = 0;
  failed = 0;
  /** Over TLS; those that resumed a session are among them. */
  handshakes = 0;
  resumed = 0;
  recording = false;
  turned = false;
  #ids: string[] = [];
  #times: number[] = [];
  #targets: Target[] = [];
  #nextTarget = Number.POSITIVE_INFINITY;

  arrived(id: string | null): void {
    this.ok += 1;
    if (id !== null) this.noted(id);
    if (this.ok >= this.#nextTarget) this.#reachTargets();
  }

  noted(id: string): void {
    this.#ids.push(id);
    this.#times.push(machineMs());
  }

  when(count: number): Promise<number> {
    if (this.ok >= count) return Promise.resolve(machineMs());
    return new Promise((reached) => {
      this.#targets.push({ count, reached });
      this.#nextTarget = Math.min(this.#nextTarget, count);
    });
  }

  reset(): void {
    this.ok = 0;
    this.hanging = 0;
    this.slow = 0;
    this.failed = 0;
    this.handshakes = 0;
    this.resumed = 0;
    this.recording = false;
    this.turned = false;
    this.#ids = [];
    this.#times = [];
  }

  arrivals(): { readonly ids: readonly string[]; readonly atMs: readonly number[] } {
    return { ids: this.#ids, atMs: this.#times };
  }

  #reachTargets(): void {
    const nowMs = machineMs();
    const left = this.#targets.filter((target) => target.count > this.ok);
    for (const target of this.#targets) if (target.count <= this.ok) target.reached(nowMs);
    this.#targets = left;
    this.#nextTarget = Math.min(...left.map((target) => target.count), Number.POSITIVE_INFINITY);
  }
}
