/** Display texts for gateway requests and sources. */
import type { GatewayRequest, Source } from "../../shared/resources.ts";
import type { Tone } from "../../shared/ui/tone.ts";

export type Outcome = GatewayRequest["outcome"];

interface OutcomeWords {
  readonly tone: Tone;
  readonly text: string;
}

const outcomeWords: Readonly<Record<Outcome, OutcomeWords>> = {
  accepted: { tone: "good", text: "accepted" },
  duplicate: { tone: "off", text: "duplicate" },
  rejected: { tone: "bad", text: "rejected" },
  ignored: { tone: "off", text: "ignored" },
  challenge: { tone: "new", text: "address check" },
  failed: { tone: "wait", text: "failed" },
};

export const outcomes = Object.keys(outcomeWords) as readonly Outcome[];

export function outcomeOf(outcome: Outcome): OutcomeWords {
  return outcomeWords[outcome];
}

/** State of a source. */
export function sourceStateOf(source: Pick<Source, "active" | "when_inactive" | "warnings">): OutcomeWords {
  if (!source.active) return { tone: "off", text: source.when_inactive === "gone" ? "retired" : "disabled" };
  if (source.warnings.some((warning) => warning.includes("cannot be used")))
    return { tone: "bad", text: "misconfigured" };
  return { tone: "good", text: "active" };
}

export const modeWords: Readonly<Record<Source["mode"], string>> = {
  pass_through: "pass-through",
  store_and_forward: "store and forward",
};
