import { createHash } from "node:crypto";
import { createAddressPolicy } from "../../src/domain/egress/address-policy.ts";
import { Engine } from "../../src/engine/engine.ts";
import { CrashStore } from "./crash-store.ts";
import { EngineRun } from "./engine-run.ts";
import { microtasksDone, VirtualTime } from "./fake-clock.ts";
import { HostileReceiver } from "./hostile-receiver.ts";
import { Invariants } from "./invariants.ts";
import { Flights } from "./invariants/flights.ts";
import { Violation } from "./invariants/watched.ts";
import { Ledger } from "./ledger.ts";
import { RecordedTelemetry } from "./recorded-telemetry.ts";
import { drawScenario, type Scenario } from "./scenario.ts";
import { SeededRandom } from "./seeded-random.ts";
import type { Disk } from "./stores.ts";
import { stubSecretBox } from "./stub-secret-box.ts";
import { planTrouble } from "./trouble.ts";
import type { Target } from "./webhook-actions.ts";
import { Workload } from "./workload.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const startUnixMs = Date.UTC(2026, 2, 15, 9);
/** Longer than the longest delay of any schedule in the simulation. */
const healMsMax = 31 * hourMs;
const livenessCheckMs = 5 * minuteMs;
const helpMs = 10 * minuteMs;
const stopGraceMs = 10_000;
const endUnderWayChance = 0.003;
/** After a failure, the engine tries to write again within this time. */
const retryMsMax = 6_000;
/** A commit group collects writes for some milliseconds, and turns of the event loop add to that. */
const gatherMsMax = 10;

export interface WorldOptions {
  readonly seed: number;
  readonly disk: (now: () => number) => Promise<Disk> | Disk;
  /** Called with each line of the trace. */
  readonly onTrace?: ((line: string) => void) | undefined;
  /** Changes the composed engine, to prove that the checks detect the fault. */
  readonly sabotage?: ((engine: Engine) => void) | undefined;
}

/** A whole system in virtual time: engine, store, receivers, users, and all possible events. */
export class World {
  readonly #options: WorldOptions;
  readonly #random: SeededRandom;
  readonly #hash = createHash("sha256");
  readonly #ledger = new Ledger();
  readonly #flights = new Flights(this.#ledger);
  readonly #invariants: Invariants;
  readonly #workload: Workload;
  readonly #disk: Disk;
  #run: EngineRun | null = null;
  #runs = 0;
  #healing = false;
  #ending = false;
  #pendingReopen: Promise<void> = Promise.resolve();
  readonly time = new VirtualTime(startUnixMs);
  readonly scenario: Scenario;
  readonly store: CrashStore;
  readonly receiver: HostileReceiver;
  readonly recorded: RecordedTelemetry;
  readonly crashes = new Map<string, number>();
  violation: Violation | null = null;
  steps = 0;

  static async create(options: WorldOptions): Promise<World> {
    const time = { now: () => startUnixMs };
    return new World(options, await options.disk(() => time.now()));
  }

  private constructor(options: WorldOptions, disk: Disk) {
    this.#options = options;
    this.#disk = disk;
    this.#random = new SeededRandom(`seed ${options.seed}`);
    this.scenario = drawScenario(this.#random.fork("scenario"));
    const { time } = this;
    const trace = this.#trace.bind(this);
    const fail = this.#fail.bind(this);
    this.recorded = new RecordedTelemetry(trace);
    this.#invariants = new Invariants({
      ledger: this.#ledger,
      flights: this.#flights,
      time,
      fail,
      limits: this.scenario.limits,
    });
    this.store = new CrashStore({
      ledger: this.#ledger,
      time,
      trace,
      inner: () => disk.store(),
      random: this.#random.fork("store"),
      faults: this.scenario.faults,
      crash: (where) => this.#crash(where),
      spinning: () => this.#fail("I-19", "the engine calls the store without end"),
      fannedOut: (part) => this.#invariants.fannedOut(part),
      refused: (run, batch) => this.#invariants.refused(run, batch),
      committed: (commit) => this.#invariants.committed(commit),
    });
    const interference = this.#random.fork("interference");
    this.receiver = new HostileReceiver({
      time,
      trace,
      random: this.#random.fork("receiver"),
      sent: (sent) => {
        if (interference.chance(endUnderWayChance)) this.#endUnderWay();
        return this.#invariants.requestSent(sent);
      },
      answered: (flight, answer) => this.#invariants.requestAnswered(flight, answer),
    });
    this.#workload = new Workload({
      ledger: this.#ledger,
      invariants: this.#invariants,
      trace,
      fail,
      random: this.#random.fork("workload"),
      tenants: this.scenario.tenants,
      now: () => time.now(),
      restart: () => this.#restart(),
      startOutage: (durationMs) => this.store.startOutage(durationMs),
      jump: (byMs) => this.#jump(byMs),
    });
  }

  /**
   * Runs the period of trouble, recovers, waits until the world is idle, and compares it with the ledger. Stops at the
   * first violation.
   */
  async live(): Promise<void> {
    const { time, scenario } = this;
    this.#planTrouble();
    this.#boot();
    this.#watch();
    await this.#runUntil(scenario.troubleMs);
    this.#heal();
    const healedAtMs = time.monotonicMs();
    await this.#runUntil(healedAtMs + healMsMax, () => this.#ledger.isDone);
    // Leaves time for notifications about requests that were just settled.
    await this.#runUntil(time.monotonicMs() + 10 * minuteMs);
    await this.#checkRest();
    // The store was reopened when the last process ended.
    await this.#pendingReopen;
    await this.#disk.remove();
  }

  traceHash(): string {
    return this.#hash.copy().digest("hex");
  }

  async #runUntil(monotonicMs: number, isDone: () => boolean = () => false): Promise<void> {
    while (this.violation === null && !isDone()) {
      this.steps += 1;
      // Virtual time stands still while the store is reopened, which takes real time. The machine's load therefore does
      // not affect the history.
      await this.#pendingReopen;
      await microtasksDone();
      if (this.time.runDeferred()) {
        this.time.runTimer(this.time.monotonicMs());
        continue;
      }
      if (!this.time.runTimer(monotonicMs)) return;
    }
  }

  #planTrouble(): void {
    planTrouble(this.scenario, this.#random.fork("plan"), {
      after: (delayMs, run) => this.time.after(delayMs, () => !this.#healing && run()),
      createWebhook: () =>
        this.#withTarget((target) => void this.#workload.webhooks.create(target).catch(() => undefined)),
      act: () => this.#withTarget((target) => this.#workload.act(target)),
      crash: () => this.#crash("anytime"),
      jump: (byMs) => this.#jump(byMs),
    });
  }

  #jump(byMs: number): void {
    this.#trace(`clock jumps ${byMs}`);
    this.time.jump(byMs);
    this.#invariants.clockJumped(byMs);
  }

  /** Ends a delivery while its request is in flight. */
  #endUnderWay(): void {
    const end = (): void => this.#withTarget((target) => this.#workload.endUnderWay(target));
    this.time.after(1, () => !this.#healing && end());
  }

  #watch(): void {
    this.time.after(livenessCheckMs, () => {
      if (this.#run !== null) this.#invariants.checkLiveness(this.#run, this.store.lastFaultAtMonotonicMs);
      this.#watch();
    });
  }

  #bootIn(delayMs: number): void {
    this.time.after(delayMs, () => void this.#pendingReopen.then(() => !this.#ending && this.#boot()));
  }

  #boot(): void {
    const { time, scenario } = this;
    this.#runs += 1;
    const run = new EngineRun(this.#runs, time);
    this.#trace(`boot ${run.number}`);
    const random = this.#random.fork(`engine ${run.number}`);
    run.engine = new Engine({
      store: this.store.facade(run),
      transport: this.receiver.transport(run),
      secretBox: stubSecretBox,
      clock: run.clock,
      random,
      telemetry: this.recorded.telemetry,
      limits: scenario.limits,
      retention: scenario.retention,
      delivers: true,
      countsStatistics: false,
      userAgent: "posthorn-simulation",
      requestOrigin: "posthorn.test",
      urlRules: { policy: createAddressPolicy([], false), allowHttp: false },
      tenantExists: () => true,
      schemas: { prepare: () => null, problems: () => [] },
    });
    this.#options.sabotage?.(run.engine);
    this.#run = run;
    run.engine.start().then(
      () => {
        run.started = true;
        this.#invariants.processStarted(run);
      },
      (error: unknown) => this.#bootFailed(run, error),
    );
  }

  #bootFailed(run: EngineRun, error: unknown): void {
    this.#trace(`boot ${run.number} failed: ${String(error)}`);
    if (!String(error).includes("outage")) this.#fail("I-21", `the engine does not start: ${String(error)}`);
    this.#crash("start");
  }

  #crash(where: string): void {
    const run = this.#run;
    if (run === null) return;
    this.#trace(`crash ${where}`);
    this.crashes.set(where, (this.crashes.get(where) ?? 0) + 1);
    this.#end(run);
    this.#bootIn(this.#random.int({ min: 1, max: 5_000 }));
  }

  /** From now on, the process has no effect. The store is reopened. */
  #end(run: EngineRun): void {
    run.die();
    this.#run = null;
    this.#invariants.processDied(run, this.#settledWithinMs());
    this.#ledger.restarted();
    this.#pendingReopen = this.#pendingReopen
      .then(() => this.#disk.reopen())
      .catch((error: unknown) => this.#fail("I-21", `reopening: ${String(error)}`));
  }

  /**
   * How long a response may remain unsettled while the store accepts writes; null while the store is slow or was
   * recently unavailable.
   */
  #settledWithinMs(): number | null {
    const { limits, faults } = this.scenario;
    const isHeldUp = this.time.monotonicMs() - this.store.lastFaultAtMonotonicMs < retryMsMax;
    return faults.latencyMsMax > 0 || isHeldUp ? null : limits.commitWindowMs + gatherMsMax;
  }

  #restart(): void {
    const run = this.#run;
    if (run === null || !run.started || run.stopping) return;
    run.stopping = true;
    this.#trace("stop");
    const stoppedAtMs = this.time.monotonicMs();
    const faultsBefore = this.store.lastFaultAtMonotonicMs;
    run.engine.stop(stopGraceMs).then(
      () => {
        if (!run.alive) return;
        const isClean = this.store.lastFaultAtMonotonicMs === faultsBefore;
        const tookMs = this.time.monotonicMs() - stoppedAtMs;
        this.#invariants.processStopped(run, { isClean, tookMs, graceMs: stopGraceMs });
        this.#end(run);
        this.#bootIn(this.#random.int({ min: 1, max: 60_000 }));
      },
      (error: unknown) => this.#stopFailed(run, error),
    );
  }

  #stopFailed(run: EngineRun, error: unknown): void {
    if (!run.alive) return;
    if (this.store.healed) this.#fail("I-20", `stopping failed: ${String(error)}`);
    this.#crash("stop");
  }

  #withTarget(use: (target: Target) => void): void {
    const run = this.#run;
    if (run === null || !run.started || run.stopping || !run.alive) return;
    use({ run, engine: run.engine, store: this.store.facade(run) });
  }

  #heal(): void {
    this.#trace("heal");
    this.#healing = true;
    this.store.heal();
    this.receiver.healed = true;
    this.#helpAlong();
  }

  /**
   * Repeated until every webhook is healthy, because a process may just be starting, and late responses may still
   * disable a webhook.
   */
  #helpAlong(): void {
    this.#withTarget((target) => {
      this.#workload.webhooks
        .heal(target)
        .catch((error: unknown) => this.#fail("I-21", `healing: ${String(error)}`));
    });
    if (!this.#ledger.isDone) this.time.after(helpMs, () => this.#helpAlong());
  }

  async #checkRest(): Promise<void> {
    const run = this.#run;
    if (this.violation !== null || run === null) return;
    await this.#pendingReopen;
    const { payloadMs, historyMs } = this.scenario.retention;
    const historyFrom = this.time.now() - Math.min(payloadMs, historyMs);
    await this.#invariants.checkEnd({ store: this.#disk.store(), historyFrom });
    const firedBefore = run.clock.firedTimers;
    await this.#runUntil(this.time.monotonicMs() + hourMs);
    this.#invariants.checkIdle(run, { timersFired: run.clock.firedTimers - firedBefore });
    this.#ending = true;
    this.#restart();
    await this.#runUntil(this.time.monotonicMs() + minuteMs / 2, () => !run.alive);
    if (run.alive) this.#fail("I-20", "the engine does not stop");
  }

  /** Called for an uncaught exception. */
  uncaught(error: unknown): void {
    this.#fail("I-21", `uncaught: ${error instanceof Error ? error.stack : String(error)}`);
  }

  #fail(invariant: string, message: string): void {
    if (this.violation !== null) return;
    this.violation = new Violation(invariant, message);
    this.#trace(`VIOLATION ${this.violation.message}`);
  }

  #trace(line: string): void {
    const stamped = `${this.time.monotonicMs()} ${line}`;
    this.#hash.update(stamped).update("\n");
    this.#options.onTrace?.(stamped);
  }
}
