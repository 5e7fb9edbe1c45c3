import type { Delivery } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { wordsOf } from "./wording.ts";

export function StatusBadge({ status }: { readonly status: Delivery["status"] }) {
  return <Badge {...wordsOf(status)} />;
}
