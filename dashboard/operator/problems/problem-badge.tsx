import type { DeliveryProblem } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";

const tones: Readonly<Record<DeliveryProblem["state"], Tone>> = {
  open: "bad",
  recovering: "wait",
  resolved: "good",
  muted: "off",
};

export function ProblemBadge({ state }: { readonly state: DeliveryProblem["state"] }) {
  return <Badge tone={tones[state]} text={state} />;
}

/** The title without the remedy. */
export function headlineOf({ title, remedy }: Pick<DeliveryProblem, "title" | "remedy">): string {
  const sentence = title.endsWith(remedy) ? title.slice(0, -remedy.length).trim() : title;
  return sentence.replace(/\.$/, "");
}
