import type { Operation } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";

const tones: Readonly<Record<Operation["status"], Tone>> = {
  pending: "new",
  running: "wait",
  paused: "held",
  completed: "good",
  cancelled: "off",
  failed: "bad",
};

export function OperationBadge({ status }: Pick<Operation, "status">) {
  return <Badge tone={tones[status]} text={status} />;
}
