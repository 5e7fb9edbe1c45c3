import { Badge } from "../../shared/ui/badge.tsx";
import { outcomeOf, type Outcome } from "./wording.ts";

export function RequestBadge({ outcome }: { readonly outcome: Outcome }) {
  return <Badge {...outcomeOf(outcome)} />;
}
