import { useAddress } from "../../shared/address.ts";
import type { SourceConnection } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { mayManage } from "../action-button.tsx";
import { LinkedFilters } from "../filters/linked-filters.tsx";
import { ResourceList } from "../list-page.tsx";
import { connectionColumns } from "./connection-table.tsx";
import { GatewayTabs } from "./gateway-tabs.tsx";

const filterNames = ["source_id", "webhook_id", "tenant_id"] as const;

export function ConnectionsPage() {
  const { params } = useAddress();
  const query = Object.fromEntries(filterNames.map((name) => [name, params.get(name)]));
  return (
    <>
      <PageHead title="Connections">
        {mayManage() && (
          <a class="button primary" href={pagePath("connections/new")} data-command="New connection">
            New connection
          </a>
        )}
      </PageHead>
      <GatewayTabs />
      <div class="filters">
        <LinkedFilters names={filterNames} />
      </div>
      <ResourceList<SourceConnection>
        title="Connections"
        path="v1/connections"
        query={query}
        cli={shell`connections list`}
        columns={connectionColumns}
        keyOf={({ id }) => id}
        none={
          <div class="teaching">
            <p>
              No connections yet. A <strong>connection</strong> forwards messages from a source to a webhook:
              all messages, or those that match a filter. A source can have several connections. Each can be
              paused separately.
            </p>
            <p class="soft">
              Without a connection, senders of a source are asked to retry later, or their messages are stored
              but not forwarded.
            </p>
          </div>
        }
      />
    </>
  );
}
