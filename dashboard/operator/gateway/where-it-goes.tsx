import type { Source } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shellWord } from "../../shared/shell-text.ts";
import { Command } from "../../shared/ui/as-api.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { ConnectionTable, useConnectionsOf } from "./connection-table.tsx";

/** Webhooks that it leads to, and one's own machine. */
export function WhereItGoes({ source }: { readonly source: Source }) {
  const { id, name, party } = source;
  const loaded = useConnectionsOf(id);
  const rows = loaded.data?.data ?? [];
  return (
    <Panel
      title="3. Where it goes"
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
          Nowhere yet, so that senders are asked to come back. Connect one of your webhooks, or a new one.
        </p>
      ) : (
        <ConnectionTable rows={rows} withoutSource />
      )}
      <p>To your own machine, while you develop:</p>
      <Command text={`posthorn listen --source ${shellWord(party ?? name)} --forward-to 3000`} />
    </Panel>
  );
}
