import { describeSettings } from "../config/describe.ts";
import type { OptionName, Settings } from "../config/options.ts";
import type { Source } from "../config/sources.ts";
import type { Engine } from "../engine/engine.ts";
import type { Companion, SystemReport } from "../http/context.ts";
import type { Readiness } from "../http/server.ts";
import { type Clock, Loop } from "../ports/clock.ts";
import type { SharedState } from "../ports/shared-state.ts";
import { type Store, type StoreTrouble, storeTroubles, StoreUnavailableError } from "../ports/store.ts";
import { shortageTexts } from "../ports/transport.ts";
import type { WorkQueue } from "../ports/work-queue.ts";
import { systemClock } from "../system/clock.ts";

/**
 * Pings a store, so that a process that is not writing also notices an outage. A missing reply counts as an outage
 * after a few seconds; an error with a known cause counts immediately.
 */
export class StoreProbe {
  readonly #store: Pick<Store, "ping">;
  readonly #clock: Clock;
  readonly #loop: Loop;
  #answeredMs: number;
  #known: StoreTrouble | null = null;

  constructor(store: Pick<Store, "ping">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#answeredMs = clock.monotonicMs();
    this.#loop = new Loop({
      clock,
      round: () => this.#ask(),
      pauseMs: () => probeMs,
      failed: (error) => {
        this.#known = knownTrouble(error);
      },
    });
  }

  /** Null if the store replied recently and accepts writes. */
  get trouble(): StoreTrouble | null {
    if (this.#known !== null) return this.#known;
    return this.#clock.monotonicMs() - this.#answeredMs < silentMsMax ? null : "away";
  }

  start(): void {
    this.#loop.start();
  }

  /** Does not wait for a ping in progress, because its result no longer matters. */
  stop(): void {
    void this.#loop.stop();
  }

  async #ask(): Promise<void> {
    await this.#store.ping();
    this.#answeredMs = this.#clock.monotonicMs();
    this.#known = null;
  }
}

function knownTrouble(error: unknown): StoreTrouble | null {
  return error instanceof StoreUnavailableError && error.trouble !== "away" ? error.trouble : null;
}

const probeMs = 1_000;
const silentMsMax = 4_000;

/** The sources from which the readiness of a process is determined. */
interface ReadingSources {
  readonly engine: Pick<Engine, "activity">;
  readonly store: Store;
  readonly companions: {
    readonly workQueue: Pick<WorkQueue, "isConnected"> | null;
    readonly sharedState: Pick<SharedState, "isAvailable"> | null;
  };
  readonly settings: Pick<Settings, "roles">;
}

/**
 * Readiness of a process, by dependency and role. Without the queue or the shared state, the process can still do all
 * its work, but more slowly or less evenly. Therefore, their outage is reported, but the process stays ready.
 */
export class Readings {
  readonly #sources: ReadingSources;
  readonly #delivers: boolean;
  readonly #probe: StoreProbe;
  /** Lifecycle phase of the process. */
  phase: "starting" | "running" | "draining" = "starting";

  constructor(of: ReadingSources) {
    this.#sources = of;
    this.#delivers = of.settings.roles.includes("worker");
    this.#probe = new StoreProbe(of.store, systemClock);
    this.#probe.start();
  }

  readiness(): Readiness {
    const { engine, companions } = this.#sources;
    const { workQueue, sharedState } = companions;
    const { storeTrouble, shortage, holds } = engine.activity();
    // Damage also affects reads; a full disk affects only writes.
    const trouble = this.#probe.trouble ?? storeTrouble;
    const obstacles = [
      ...(this.phase === "running" ? [] : [this.phase]),
      ...(trouble === null ? [] : ["store_unavailable", ...codes[trouble]]),
      // Other workers may already own this worker's webhooks, so it sends nothing until a heartbeat succeeds again.
      ...(this.#delivers && !holds && this.phase !== "starting" ? ["worker_suspended"] : []),
    ];
    const flaws = [
      ...(workQueue?.isConnected === false ? ["queue_unavailable"] : []),
      ...(sharedState?.isAvailable === false ? ["shared_state_unavailable"] : []),
      ...(shortage === null ? [] : ["local_shortage"]),
    ];
    const details = [
      ...(trouble === null || trouble === "away" ? [] : [storeTroubles[trouble]]),
      ...(shortage === null ? [] : [shortageTexts[shortage]]),
    ];
    return { ready: obstacles.length === 0, reasons: [...obstacles, ...flaws], details };
  }

  stop(): void {
    this.#probe.stop();
  }
}

/** Codes reported in addition to `store_unavailable`. */
const codes: Readonly<Record<StoreTrouble, readonly string[]>> = {
  away: [],
  standby: ["store_is_standby"],
  read_only: ["store_is_read_only"],
  waits_for_standby: ["store_waits_for_standby"],
  disk_full: ["disk_full"],
  damaged: ["store_damaged"],
};

export interface SystemParts extends Pick<ReadingSources, "companions"> {
  readonly settings: Settings;
  /** Null if the settings did not come from a command line, an environment or a file. */
  readonly sources: Readonly<Record<OptionName, Source>> | null;
  readonly store: Pick<Store, "facts" | "ownership">;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Warnings about configured features that no process serves. */
  readonly warnings: () => readonly string[];
}

/** The content of `GET /v1/system`. Store facts are null while the store is unavailable. */
export async function systemReport(parts: SystemParts): Promise<SystemReport> {
  const { settings, sources, store, companions, startedAt } = parts;
  const [pools, facts] = await Promise.all([known(poolsOf(parts)), known(store.facts())]);
  const { workQueue, sharedState } = companions;
  const queue: Companion<"store" | "rabbitmq"> =
    workQueue === null
      ? { kind: "store", isAvailable: true }
      : { kind: "rabbitmq", isAvailable: workQueue.isConnected };
  const shared: Companion<"process" | "redis"> =
    sharedState === null
      ? { kind: "process", isAvailable: true }
      : { kind: "redis", isAvailable: sharedState.isAvailable };
  return {
    roles: settings.roles,
    warnings: parts.warnings(),
    startedAt,
    pools,
    store: { kind: settings.databaseUrl === null ? "sqlite" : "postgresql", facts },
    queue,
    sharedState: shared,
    retention: {
      payloadDays: settings.retentionPayloadDays,
      historyDays: settings.retentionHistoryDays,
      auditDays: settings.auditDays,
    },
    settings: describedSettings(settings, sources),
  };
}

/** With an embedded store, this process is the only possible worker. */
async function poolsOf({ store, settings }: SystemParts): Promise<ReadonlyMap<string, number>> {
  if (store.ownership !== undefined) return store.ownership.pools();
  return new Map([[settings.workerPool, settings.roles.includes("worker") ? 1 : 0]]);
}

function describedSettings(settings: Settings, sources: SystemParts["sources"]): SystemReport["settings"] {
  const shown = describeSettings(settings, sources ?? ({} as Readonly<Record<OptionName, Source>>));
  return sources === null ? shown.map((setting) => ({ ...setting, source: null })) : shown;
}

async function known<Value>(asked: Promise<Value>): Promise<Value | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof StoreUnavailableError) return null;
    throw error;
  }
}
