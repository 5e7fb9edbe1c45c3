import type { Source } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shellWord } from "../../shared/shell-text.ts";
import { Command } from "../../shared/ui/as-api.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { ConnectionTable, useConnectionsOf } from "./connection-table.tsx";

/** Connected webhooks, and the command to forward to a local machine. */
export function WhereItGoes({ source }: { readonly source: Source }) {
  const { id, name, party } = source;
  const loaded = useConnectionsOf(id);
  const rows = loaded.data?.data ?? [];
  return (
    <Panel
      title="3. Forwarding"
      loaded={loaded}
      tools={
        <a
          class={rows.length === 0 ? "button primary" : "button"}
          href={`${pagePath("connections/new")}?source_id=${id}`}
          data-command="Connect a webhook"
        >
          Connect a webhook
        </a>
      }
    >
      {rows.length === 0 ? (
        <p>
          No webhook is connected, so senders are asked to retry later. Connect an existing or a new webhook.
        </p>
      ) : (
        <ConnectionTable rows={rows} withoutSource />
      )}
      <p>To forward to your machine during development:</p>
      <Command text={`posthorn listen --source ${shellWord(party ?? name)} --forward-to 3000`} />
    </Panel>
  );
}
