import type { Companion, SystemReport } from "../api/context.ts";
import { describeSettings } from "../config/describe.ts";
import type { OptionName, Settings } from "../config/options.ts";
import type { Source } from "../config/sources.ts";
import { StoreUnavailableError } from "../ports/store.ts";
import type { Store } from "../ports/store.ts";
import type { ReadingSources } from "./readings.ts";

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
