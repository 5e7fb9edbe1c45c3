import { providerTable, type ProviderDescription } from "../providers/index.ts";
import { conversationPresets } from "./conversation-presets.ts";
import { developerPresets } from "./developer-presets.ts";
import { paymentPresets } from "./payment-presets.ts";
import type { Preset, ProviderName } from "./preset.ts";

/** Every provider has one. */
const presets: Readonly<Record<ProviderName, Preset>> = {
  ...conversationPresets,
  ...developerPresets,
  ...paymentPresets,
};

/** One provider with all that is known of it. */
export interface PresetDescription extends Preset, Omit<ProviderDescription, "key"> {
  /** What to give as secret, as people read it. */
  readonly secret: string;
}

/** Every provider, in the order of the alphabet: for pages, forms and lists. */
export const presetTable: readonly PresetDescription[] = providerTable.map(withPreset);

function withPreset({ key, ...description }: ProviderDescription): PresetDescription {
  const preset = presets[description.name as ProviderName];
  const forwardHeaders = [...preset.forwardHeaders, ...proofs(description)].filter(isFirst);
  return { ...description, ...preset, forwardHeaders, secret: key };
}

/** Whoever has the provider's own library verifies with it behind a gateway too. Those of Standard Webhooks are of each hop. */
function proofs({ headers }: Pick<ProviderDescription, "headers">): readonly string[] {
  return headers.filter((name) => !name.startsWith("webhook-"));
}

function isFirst(name: string, at: number, all: readonly string[]): boolean {
  return all.findIndex((one) => one.toLowerCase() === name.toLowerCase()) === at;
}
