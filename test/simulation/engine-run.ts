import type { Engine } from "../../src/engine/engine.ts";
import { ProcessClock } from "./fake-clock.ts";
import type { VirtualTime } from "./fake-clock.ts";

/** One run of the engine, from its start until it stops or crashes. Anything it does later has no effect. */
export class EngineRun {
  readonly number: number;
  readonly clock: ProcessClock;
  readonly startedAtMonotonicMs: number;
  #engine: Engine | null = null;
  /** True after `Engine.start` has resolved. */
  started = false;
  stopping = false;

  constructor(number: number, time: VirtualTime) {
    this.number = number;
    this.clock = new ProcessClock(time);
    this.startedAtMonotonicMs = time.monotonicMs();
  }

  get alive(): boolean {
    return this.clock.alive;
  }

  get engine(): Engine {
    if (this.#engine === null) throw new Error("the engine of this run is not composed yet");
    return this.#engine;
  }

  set engine(engine: Engine) {
    this.#engine = engine;
  }

  die(): void {
    this.clock.alive = false;
  }
}
