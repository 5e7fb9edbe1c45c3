import { TenantAllowances } from "../endpoint/tenant-allowances.ts";
import type { TenantQueue } from "../endpoint/tenant-queue.ts";
import type { EngineOptions } from "../engine-options.ts";
import { KnownPublishes } from "../publish/known-publishes.ts";
import { EndpointNotes } from "./endpoint-notes.ts";

/** The engine parts that use the shared state; each is null without it. */
export interface SharedParts {
  readonly allowances: TenantAllowances | null;
  readonly notes: EndpointNotes | null;
  readonly knownPublishes: KnownPublishes | null;
}

/** `woke`: the gates of a tenant queue may have opened, or their closing time is known now. */
export function createSharedParts(
  options: EngineOptions,
  woke: (tenantQueue: TenantQueue) => void,
): SharedParts {
  const { sharedState: state, store } = options;
  if (state === undefined) return { allowances: null, notes: null, knownPublishes: null };
  return {
    allowances: new TenantAllowances(options, state, woke),
    // A sole owner has no successor that needs notes.
    notes: store.ownership === undefined ? null : new EndpointNotes(options, state),
    knownPublishes: new KnownPublishes(options, state),
  };
}

/**
 * Returns unused tokens and sends pending notes. Call after the last commit, and before the endpoints are released.
 */
export async function stopSharedParts({ allowances, notes, knownPublishes }: SharedParts): Promise<void> {
  await Promise.all([allowances?.stop(), notes?.stop(), knownPublishes?.stop()]);
}
