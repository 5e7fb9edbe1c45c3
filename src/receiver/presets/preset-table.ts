import { providerTable, type ProviderDescription } from "../providers/index.ts";
import { conversationPresets } from "./conversation-presets.ts";
import { developerPresets } from "./developer-presets.ts";
import { paymentPresets } from "./payment-presets.ts";
import type { Preset, ProviderName } from "./preset.ts";

/** One entry for every provider. */
const presets: Readonly<Record<ProviderName, Preset>> = {
  ...conversationPresets,
  ...developerPresets,
  ...paymentPresets,
};

/** Everything known about a provider. */
export interface PresetDescription extends Preset, Omit<ProviderDescription, "key"> {
  /** What to enter as the secret, in words. */
  readonly secret: string;
}

/** All providers in alphabetical order, for pages, forms and lists. */
export const presetTable: readonly PresetDescription[] = providerTable.map(withPreset);

function withPreset({ key, ...description }: ProviderDescription): PresetDescription {
  const preset = presets[description.name as ProviderName];
  const forwardHeaders = [...preset.forwardHeaders, ...proofs(description)].filter(isFirst);
  return { ...description, ...preset, forwardHeaders, secret: key };
}

/**
 * The provider's proof headers, so that its own library can verify messages behind a gateway, too. Standard Webhooks
 * headers are left out, because each hop has its own.
 */
function proofs({ headers }: Pick<ProviderDescription, "headers">): readonly string[] {
  return headers.filter((name) => !name.startsWith("webhook-"));
}

function isFirst(name: string, at: number, all: readonly string[]): boolean {
  return all.findIndex((one) => one.toLowerCase() === name.toLowerCase()) === at;
}
