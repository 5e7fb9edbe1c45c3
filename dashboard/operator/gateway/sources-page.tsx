import { useApi } from "../../shared/queries.ts";
import type { Page, Source, SourceConnection } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { Command } from "../../shared/ui/as-api.tsx";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Column } from "../../shared/ui/data-table.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { mayManage } from "../action-button.tsx";
import { ResourceList } from "../list-page.tsx";
import { GatewayTabs } from "./gateway-tabs.tsx";
import { LastMessage, RecentOutcomes } from "./recent-outcomes.tsx";
import { SourceBadges } from "./source-badges.tsx";
import { useSourceTypes } from "./use-source-types.ts";
import { modeWords } from "./wording.ts";

interface Beside {
  readonly titles: ReadonlyMap<string, string>;
  /** Null until they are known. */
  readonly connections: readonly SourceConnection[] | null;
}

function columnsOf({ titles, connections }: Beside): readonly Column<Source>[] {
  return [
    {
      title: "Source",
      cell: (row) => (
        <a href={pagePath(`sources/${row.id}`)} class="row-link">
          {row.name}
        </a>
      ),
    },
    { title: "State", cell: (row) => <SourceBadges source={row} /> },
    {
      title: "Verified as",
      cell: ({ verification: { type } }) => titles.get(type ?? "") ?? type ?? "–",
      needs: "medium",
    },
    { title: "Mode", cell: (row) => modeWords[row.effective_mode], needs: "medium" },
    {
      title: "Leads to",
      cell: ({ id }) => countText(connections?.filter((one) => one.source_id === id).length ?? null),
      needs: "medium",
    },
    { title: "Tenant", cell: (row) => row.tenant_id, needs: "wide" },
    { title: "Last requests", cell: (row) => <RecentOutcomes source={row} />, needs: "wide" },
    { title: "Last message", cell: (row) => <LastMessage source={row} />, isFigure: true },
  ];
}

function countText(count: number | null): string {
  if (count === null) return "";
  if (count === 0) return "nobody";
  return count === 1 ? "1 webhook" : `${count} webhooks`;
}

const query = { include: "recent" };

/** The addresses that others send to. */
export function SourcesPage() {
  const types = useSourceTypes();
  const connections = useApi<Page<SourceConnection>>({ path: "v1/connections", query: { limit: 250 } });
  const titles = new Map(types.data?.data.map(({ type, title }) => [type, title]));
  return (
    <>
      <PageHead title="Sources">
        {mayManage() && (
          <a class="button primary" href={pagePath("sources/new")} data-command="Add a source">
            Add a source
          </a>
        )}
      </PageHead>
      <GatewayTabs />
      <ResourceList<Source>
        title="Sources"
        path="v1/sources"
        query={query}
        cli={shell`sources list`}
        columns={columnsOf({ titles, connections: connections.data?.data ?? null })}
        keyOf={({ id }) => id}
        none={<NoSources />}
      />
    </>
  );
}

function NoSources() {
  return (
    <div class="teaching">
      <p>
        Others send webhooks to you too: providers, partners, another Posthorn. A <strong>source</strong> is
        an address for one of them. It verifies what comes, recognises repeats, writes everything down, also
        what it refuses and why, and leads it by <strong>connections</strong> to webhooks of yours.
      </p>
      {mayManage() ? (
        <p>
          <a href={pagePath("sources/new")}>Add the first source</a>: choose who sends, and follow the steps.
          Or by command:
        </p>
      ) : (
        <p>A key that may manage adds the first one:</p>
      )}
      <Command
        text={`posthorn sources create GitHub --verification '{"type":"github","secrets":["a long random text"]}'`}
      />
      <Badge tone="new" text="Nothing is taken until there is a source" />
    </div>
  );
}
