import { useSignal } from "@preact/signals";
import { now } from "../../shared/clock.ts";
import { useApi } from "../../shared/queries.ts";
import type {
  Delivery,
  DeliveryPage,
  EventSummary,
  Page,
  Readiness,
  Webhook,
} from "../../shared/resources.ts";
import { pagePath, root } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { RangePicker } from "../../shared/time/range-picker.tsx";
import { shortSpan } from "../../shared/time/time-format.ts";
import { Command } from "../../shared/ui/as-api.tsx";
import { Badge } from "../../shared/ui/badge.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { DeliveryTable } from "../delivery/delivery-table.tsx";
import { AttentionList } from "../overview/attention-list.tsx";
import { Traffic } from "../overview/traffic.tsx";
import { troublesOf, type Trouble } from "../overview/troubles.ts";
import { usualRange } from "../statistics-range.ts";
import { useOpenProblems } from "../problems/open-problems.ts";
import { useSettledRows } from "../use-settled-rows.ts";

const recentQuery = { limit: 12, include: "webhook" };
const troubledQuery = {
  status: ["failed", "circuit_blocked"],
  order: "next_attempt",
  limit: 250,
  include: "webhook",
};

export function OverviewPage() {
  const recent = useApi<DeliveryPage>({ path: "v1/deliveries", query: recentQuery });
  const troubled = useApi<DeliveryPage>({ path: "v1/deliveries", query: troubledQuery });
  const inactive = useApi<Page<Webhook>>({ path: "v1/webhooks", query: { active: false, limit: 50 } });
  const dead = useApi<Page<Delivery>>({ path: "v1/dlq", query: { limit: 250 } });
  const problems = useOpenProblems();
  const events = useApi<Page<EventSummary>>({ path: "v1/events", query: { limit: 1 } });
  const isEmpty = recent.data?.data.length === 0 && events.data?.data.length === 0;
  const troubles = troublesOf({
    waiting: troubled.data?.data ?? [],
    inactive: inactive.data?.data ?? [],
    deadLetters: dead.data?.data ?? [],
    problems: problems.data?.data ?? [],
  });
  return (
    <>
      <PageHead title="Overview">{!isEmpty && <RangePicker fallback={usualRange} />}</PageHead>
      <HealthLine waiting={troubled.data?.data ?? []} troubles={troubles} />
      {isEmpty ? (
        <FirstSteps />
      ) : (
        <>
          <Traffic>
            <Panel
              title="Needs attention"
              loaded={troubled}
              twin={{
                path: "v1/deliveries",
                query: troubledQuery,
                cli: shell`deliveries list --status failed,circuit_blocked --order next_attempt`,
              }}
            >
              <AttentionList troubles={troubles} />
            </Panel>
          </Traffic>
          <RecentDeliveries recent={recent} />
        </>
      )}
    </>
  );
}

/** One sentence that says whether somebody has to do something. */
function HealthLine({
  waiting,
  troubles,
}: {
  readonly waiting: readonly Delivery[];
  readonly troubles: readonly Trouble[];
}) {
  const ready = useApi<Readiness>({ path: "readyz" });
  const isReady = ready.data !== null && ready.error === null;
  const oldest = Math.min(...waiting.map(({ created_at }) => Date.parse(created_at)));
  if (ready.data === null && ready.error === null) return <p class="health">&nbsp;</p>;
  return (
    <p class="health">
      <Badge tone={isReady ? "good" : "bad"} text={isReady ? "Delivering" : "Not ready"} />
      {ready.error !== null && <span>{ready.error.message}</span>}
      {ready.data?.reasons.map((reason) => (
        <code key={reason}>{reason}</code>
      ))}
      {isReady && (
        <span>
          {troubles.length === 0
            ? "Nothing needs attention."
            : countOf(troubles.length, "webhook needs", "webhooks need")}
          {troubles.length > 0 && " attention."}{" "}
          {waiting.length > 0 && (
            <>
              {countOf(waiting.length, "delivery waits", "deliveries wait")} after a failure, the oldest for{" "}
              {shortSpan(now.value - oldest)}.
            </>
          )}
        </span>
      )}
    </p>
  );
}

function countOf(count: number, ...[one, many]: readonly [string, string]): string {
  return `${count >= 250 ? "250 or more" : count} ${count === 1 ? one : many}`;
}

function RecentDeliveries({ recent }: { readonly recent: ReturnType<typeof useApi<DeliveryPage>> }) {
  const isPointedAt = useSignal(false);
  const { rows, waiting, merge } = useSettledRows(recent, {
    key: "recent",
    isFollowing: !isPointedAt.value,
  });
  return (
    <div
      onPointerEnter={() => (isPointedAt.value = true)}
      onPointerLeave={() => (isPointedAt.value = false)}
      onFocusCapture={() => (isPointedAt.value = true)}
      onBlurCapture={() => (isPointedAt.value = false)}
    >
      <Panel
        title="Recent deliveries"
        loaded={recent}
        tools={
          <>
            {waiting > 0 && (
              <button type="button" onClick={merge}>
                {waiting} new
              </button>
            )}
            <a href={pagePath("deliveries")}>All deliveries</a>
          </>
        }
        twin={{ path: "v1/deliveries", query: recentQuery, cli: shell`deliveries list --limit 12` }}
      >
        {rows.length === 0 ? (
          <p class="soft">
            Events were published, and no webhook asked for them. <a href={pagePath("webhooks")}>Webhooks</a>
          </p>
        ) : (
          <DeliveryTable caption="Recent deliveries, newest first" rows={rows} />
        )}
      </Panel>
    </div>
  );
}

/** Until the first event: what to type, for this very server. */
function FirstSteps() {
  const url = root.origin === "http://127.0.0.1:8080" ? "" : ` --url ${root.href.replace(/\/$/, "")}`;
  return (
    <section class="panel first-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">Nothing was published yet</h2>
      <p>This page changes by itself when the first event arrives.</p>
      <ol>
        <li>
          <p>Subscribe a receiver on this machine, which prints what it gets:</p>
          <Command text={`npm run posthorn -- listen --register 'order.*'${url}`} />
        </li>
        <li>
          <p>Publish an event:</p>
          <Command text={`npm run posthorn -- publish order.completed '{"order_id":"4711"}'${url}`} />
          <details>
            <summary>With curl</summary>
            <Command text={curlPublish()} />
          </details>
        </li>
      </ol>
    </section>
  );
}

function curlPublish(): string {
  return [
    'curl -H "Authorization: Bearer $(cat data/admin.key)"',
    '-H "Content-Type: application/json"',
    new URL("v1/events", root).href,
    `-d '{"event_type":"order.completed","data":{"order_id":"4711"}}'`,
  ].join(" \\\n  ");
}
