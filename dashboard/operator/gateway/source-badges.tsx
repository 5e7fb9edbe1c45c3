import type { Source } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { sourceStateOf } from "./wording.ts";

/** State of the source, with a warning if it verifies no messages. */
export function SourceBadges({ source }: { readonly source: Source }) {
  const isOpen = source.warnings.some((warning) => warning.startsWith("messages are not verified"));
  return (
    <span class="badges">
      <Badge {...sourceStateOf(source)} />
      {isOpen && <Badge tone="bad" text="not verified" />}
    </span>
  );
}
