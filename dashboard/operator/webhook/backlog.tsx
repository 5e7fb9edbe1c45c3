import { useApi } from "../../shared/queries.ts";
import type { WebhookBacklog } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { shortSpan } from "../../shared/format.ts";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";

/** Waiting deliveries of a webhook, their age, and the estimated time to drain. */
export function Backlog({ id }: { readonly id: string }) {
  const loaded = useApi<WebhookBacklog>({ path: `v1/webhooks/${id}/backlog` });
  const { data } = loaded;
  return (
    <Panel
      title="Backlog"
      loaded={loaded}
      tools={
        data !== null &&
        data.total > 0 && (
          <a
            href={`${pagePath("deliveries")}?webhook_id=${id}&status=pending&status=failed&status=circuit_blocked&order=next_attempt`}
          >
            Waiting deliveries
          </a>
        )
      }
      twin={{ path: `v1/webhooks/${id}/backlog`, cli: shell`webhooks backlog ${id}` }}
    >
      {data !== null && <Sentence backlog={data} />}
    </Panel>
  );
}

function Sentence({ backlog }: { readonly backlog: WebhookBacklog }) {
  const { total, more, waiting, oldest_created_at } = backlog;
  if (total === 0) return <p class="soft">No deliveries waiting.</p>;
  const priorities = Object.entries(waiting).filter(([, count]) => count > 0);
  return (
    <p>
      <strong>
        {total.toLocaleString()}
        {more && " or more"}
      </strong>{" "}
      {total === 1 ? "delivery" : "deliveries"} waiting (
      {priorities.map(([name, count]) => `${name} ${count.toLocaleString()}`).join(", ")}). The oldest was
      created <When at={oldest_created_at} />. {drainText(backlog)}
    </p>
  );
}

/** No estimate is possible while nothing is accepted. */
function drainText({ accepted_per_second, drain_seconds }: WebhookBacklog): string {
  if (drain_seconds === null) {
    return accepted_per_second === 0
      ? "No delivery was accepted in the last five minutes, so no estimate is possible."
      : "No estimate is possible, because the backlog exceeds the count limit.";
  }
  return `At ${accepted_per_second.toLocaleString(undefined, { maximumFractionDigits: 2 })} per second, the backlog drains in about ${shortSpan(drain_seconds * 1_000)}.`;
}
