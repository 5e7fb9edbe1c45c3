import { counted } from "../../shared/format.ts";
import { useApi } from "../../shared/queries.ts";
import type { Page, Source, SourceConnection } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { Command } from "../../shared/ui/as-api.tsx";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Column } from "../../shared/ui/data-table.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { When } from "../../shared/ui/when.tsx";
import { LinkButton, mayManage } from "../form/action-button.tsx";
import { column } from "../lists/columns.tsx";
import { ResourceList } from "../lists/list-page.tsx";
import { GatewayTabs, SourceBadges } from "./parts.tsx";
import { useSourceTypes } from "./verification.tsx";
import { modeWords, outcomeOf, outcomes } from "./wording.ts";

interface Beside {
  readonly titles: ReadonlyMap<string, string>;
  /** Null until loaded. */
  readonly connections: readonly SourceConnection[] | null;
}

function columnsOf({ titles, connections }: Beside): readonly Column<Source>[] {
  return [
    column.link("Source", "sources", ({ name }) => name),
    column.text("State", (row) => <SourceBadges source={row} />),
    column.text(
      "Verified as",
      ({ verification: { type } }) => titles.get(type ?? "") ?? type ?? "–",
      "medium",
    ),
    column.text("Mode", (row) => modeWords[row.effective_mode], "medium"),
    column.text(
      "Connected to",
      ({ id }) => countText(connections?.filter((one) => one.source_id === id).length ?? null),
      "medium",
    ),
    column.text("Tenant", (row) => row.tenant_id, "wide"),
    column.text("Last requests", (row) => <RecentOutcomes source={row} />, "wide"),
    column.figure("Last message", (row) => <LastMessage source={row} />),
  ];
}

function countText(count: number | null): string {
  if (count === null) return "";
  return count === 0 ? "no webhook" : counted(count, "webhook", "webhooks");
}

const query = { include: "recent" };

export function SourcesPage() {
  const types = useSourceTypes();
  const connections = useApi<Page<SourceConnection>>({ path: "v1/connections", query: { limit: 250 } });
  const titles = new Map(types.data?.data.map(({ type, title }) => [type, title]));
  return (
    <>
      <PageHead title="Sources">
        {mayManage() && <LinkButton href={pagePath("sources/new")} label="Add a source" isPrimary />}
      </PageHead>
      <GatewayTabs />
      <ResourceList<Source>
        title="Sources"
        path="v1/sources"
        query={query}
        cli={shell`sources list`}
        columns={columnsOf({ titles, connections: connections.data?.data ?? null })}
        none={<NoSources />}
      />
    </>
  );
}

function NoSources() {
  return (
    <div class="teaching">
      <p>
        Receive webhooks from providers, partners or another Posthorn server. A <strong>source</strong> is an
        address for one sender. It verifies messages, detects duplicates, logs every request, including
        rejected ones, and forwards messages to your webhooks through <strong>connections</strong>.
      </p>
      {mayManage() ? (
        <p>
          <a href={pagePath("sources/new")}>Add the first source</a>: choose the sender and follow the steps.
          Or use the command line:
        </p>
      ) : (
        <p>Adding a source requires a key with the manage role:</p>
      )}
      <Command
        text={`posthorn sources create GitHub --verification '{"type":"github","secrets":["a long random string"]}'`}
      />
      <Badge tone="new" text="No messages are accepted until you add a source" />
    </div>
  );
}

/** Outcomes of the last 100 requests: `97 accepted, 3 rejected`. */
function RecentOutcomes({ source: { id, recent } }: { readonly source: Source }) {
  if (recent === undefined || recent === null) return null;
  const counted = outcomes.filter((outcome) => recent[outcome] > 0);
  if (counted.length === 0) return <span class="soft">none</span>;
  return (
    <a href={`${pagePath("requests")}?source_id=${id}`}>
      {counted.map((outcome) => `${recent[outcome]} ${outcomeOf(outcome).text}`).join(", ")}
    </a>
  );
}

function LastMessage({ source: { recent } }: { readonly source: Source }) {
  return <When at={recent?.last_received_at ?? null} />;
}
