import type { Webhook } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";

export type Health = Webhook["health"];

/** Text and colour of each health state. */
export const healthWords: Readonly<Record<Health, { readonly tone: Tone; readonly text: string }>> = {
  healthy: { tone: "good", text: "Healthy" },
  failing: { tone: "wait", text: "Failing" },
  circuit_open: { tone: "held", text: "Circuit open" },
  paused: { tone: "held", text: "Paused" },
  disabled: { tone: "off", text: "Disabled" },
  suspended: { tone: "bad", text: "Suspended" },
  unverified: { tone: "new", text: "Unverified" },
};

export const healthStates = Object.keys(healthWords) as readonly Health[];

export function WebhookBadge({ webhook }: { readonly webhook: Pick<Webhook, "health"> }) {
  return <Badge {...healthWords[webhook.health]} />;
}
