import type { Webhook } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";

const tones: Readonly<Record<Webhook["status"], Tone>> = {
  active: "good",
  suspended: "bad",
  disabled: "off",
  unverified: "new",
};

export function WebhookBadge({ webhook }: { readonly webhook: Pick<Webhook, "status"> }) {
  return <Badge tone={tones[webhook.status]} text={webhook.status} />;
}
