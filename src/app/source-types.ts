import type { SourceType } from "../core/gateway/source-type.ts";
import { type PresetDescription, presetTable, verificationTypes } from "../receiver/index.ts";

/** The verification types of the receiver kit in the form of the API: providers first, then schemes, both by name. */
export const sourceTypes: readonly SourceType[] = verificationTypes
  .map(({ type, title, fields }) => ({
    type,
    title,
    fields: Object.entries(fields).map(
      ([name, { kind, isRequired, isSecret, choices = [], description }]) => {
        return { name, kind, isRequired, isSecret, choices, description };
      },
    ),
    provider: providerOf(presetTable.find(({ name }) => name === type)),
  }))
  .toSorted((left, right) => rank(left).localeCompare(rank(right)));

function rank({ provider, type }: SourceType): string {
  return `${provider === null ? 1 : 0} ${type}`;
}

function providerOf(preset: PresetDescription | undefined): SourceType["provider"] {
  if (preset === undefined) return null;
  const { documentation, steps, remarks = [], algorithm, headers, signed, replayProtection } = preset;
  return {
    documentation,
    steps,
    remarks,
    signature: [algorithm, headers.join(", ")].filter((part) => part !== "").join("; "),
    signed,
    replayProtection,
    forwardHeaders: preset.forwardHeaders,
    addressCheck: addressCheckOf(preset),
  };
}

function addressCheckOf({ challenge, probes = [] }: PresetDescription): "get" | "head" | "post" | null {
  if (probes.includes("get")) return "get";
  if (probes.includes("head")) return "head";
  if (probes.includes("validation_token")) return "post";
  if (challenge === null) return null;
  return challenge === "meta" || challenge === "x" ? "get" : "post";
}
