/** Small components shared by several gateway pages. */
import { useAddress } from "../../shared/address.ts";
import { useApi } from "../../shared/queries.ts";
import type { Source } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { type Outcome, outcomeOf, sourceStateOf } from "./wording.ts";

const parts = [
  ["sources", "Sources"],
  ["connections", "Connections"],
  ["requests", "Requests"],
] as const;

export function GatewayTabs() {
  const { page } = useAddress();
  return (
    <ul class="tabs" aria-label="Gateway sections">
      {parts.map(([name, title]) => (
        <li key={name}>
          <a href={pagePath(name)} aria-current={page === name ? "page" : undefined}>
            {title}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Link with the name of the source. If the source does not exist, shows part of its id. */
export function SourceLink({ id }: { readonly id: string }) {
  const { data } = useApi<Source>({ path: `v1/sources/${id}` }, { everyMs: false });
  return <a href={pagePath(`sources/${id}`)}>{data?.id === id ? data.name : `${id.slice(0, 13)}…`}</a>;
}

/** State of the source, with a warning if the source does not verify messages. */
export function SourceBadges({ source }: { readonly source: Source }) {
  const isOpen = source.warnings.some((warning) => warning.startsWith("messages are not verified"));
  return (
    <span class="badges">
      <Badge {...sourceStateOf(source)} />
      {isOpen && <Badge tone="bad" text="not verified" />}
    </span>
  );
}

export function RequestBadge({ outcome }: { readonly outcome: Outcome }) {
  return <Badge {...outcomeOf(outcome)} />;
}
