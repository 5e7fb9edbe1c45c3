import type { EngineOptions } from "../engine-options.ts";
import { EndpointNotes } from "./endpoint-notes.ts";
import { KnownPublishes } from "../publish/known-publishes.ts";
import { TenantAllowances, type TenantAllowancesOptions } from "../endpoint/tenant-allowances.ts";

/** What an engine does with the state that workers share; each part is null where there is none. */
export interface SharedParts {
  readonly allowances: TenantAllowances | null;
  readonly notes: EndpointNotes | null;
  readonly knownPublishes: KnownPublishes | null;
}

export function createSharedParts(
  options: EngineOptions,
  effects: Pick<TenantAllowancesOptions, "woke">,
): SharedParts {
  const { sharedState: state, store } = options;
  if (state === undefined) return { allowances: null, notes: null, knownPublishes: null };
  return {
    allowances: new TenantAllowances({ ...options, ...effects, state }),
    // A sole owner needs no notes for a next one.
    notes: store.ownership === undefined ? null : new EndpointNotes({ ...options, state }),
    knownPublishes: new KnownPublishes({ ...options, state }),
  };
}

/** Returns unused tokens and sends pending notes. After the last commit, and before the endpoints go to others. */
export async function stopSharedParts({ allowances, notes, knownPublishes }: SharedParts): Promise<void> {
  await Promise.all([allowances?.stop(), notes?.stop(), knownPublishes?.stop()]);
}
