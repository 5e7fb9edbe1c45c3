import { useSignal } from "@preact/signals";
import type { Gauges } from "../../shared/charts/statistics.ts";
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
import { Command } from "../../shared/ui/as-api.tsx";
import { Badge } from "../../shared/ui/badge.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { DeliveryTable } from "../delivery/delivery-table.tsx";
import { mayAdminister } from "../form/action-button.tsx";
import { useSettledRows } from "../lists/new-rows.tsx";
import { useOpenProblems } from "../problems/open-problems.tsx";
import { useStatisticsRange, usualRange } from "../statistics/traffic-panels.tsx";
import { type Health, healthWords } from "../webhook/webhook-link.tsx";
import { AttentionList } from "./attention-list.tsx";
import { Traffic, useTopWebhooks } from "./traffic.tsx";
import { troublesOf } from "./troubles.ts";

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
  const range = useStatisticsRange();
  // All backlog numbers on the page come from this one response.
  const gauges = useApi<Gauges>(mayAdminister() ? { path: "v1/stats/gauges", query: range.query } : null);
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
      <HealthLine gauges={gauges.data} />
      {isEmpty ? (
        <FirstSteps />
      ) : (
        <>
          <Traffic gauges={gauges}>
            <Panel
              title="Needs attention"
              loaded={troubled}
              twin={{
                path: "v1/deliveries",
                query: troubledQuery,
                cli: shell`deliveries list --status failed,circuit_blocked --order next_attempt`,
              }}
            >
              <AttentionList
                troubles={troubles}
                isWhole={
                  (troubled.data?.next_cursor ?? null) === null && (dead.data?.next_cursor ?? null) === null
                }
              />
            </Panel>
          </Traffic>
          <RecentDeliveries recent={recent} />
        </>
      )}
    </>
  );
}

/** Summary line: the worst webhook state, then the backlog. */
function HealthLine({ gauges }: { readonly gauges: Gauges | null }) {
  const ready = useApi<Readiness>({ path: "readyz" });
  const counts = useTopWebhooks().data?.health_counts ?? null;
  const isReady = ready.data !== null && ready.error === null;
  if ((ready.data === null && ready.error === null) || (isReady && counts === null))
    return <p class="health">&nbsp;</p>;
  const worst = isReady && counts !== null ? worstOf(counts) : notReady;
  const others = counts === null ? "" : otherStates(counts);
  return (
    <p class="health">
      {worst.states.length > 0 ? (
        <a href={`${pagePath("webhooks")}?${worst.states.map((state) => `health=${state}`).join("&")}`}>
          <Badge tone={worst.tone} text={worst.text} />
        </a>
      ) : (
        <Badge tone={worst.tone} text={worst.text} />
      )}
      {ready.error !== null && <span>{ready.error.message}</span>}
      {ready.data?.reasons.map((reason) => (
        <code key={reason}>{reason}</code>
      ))}
      {isReady && (
        <span>
          {others}
          {gauges !== null &&
            `${countOf(gauges.now.waiting, "delivery", "deliveries")} waiting, ${countOf(gauges.now.dead_letters, "dead letter", "dead letters")}.`}
        </span>
      )}
    </p>
  );
}

type HealthCounts = Readonly<Record<Health, number>>;

interface Worst {
  readonly tone: Tone;
  readonly text: string;
  readonly states: readonly Health[];
}

const notReady: Worst = { tone: "bad", text: "Not ready", states: [] };

/** Webhooks with an open circuit count as failing. */
function worstOf({ failing, circuit_open, suspended }: HealthCounts): Worst {
  const down = failing + circuit_open;
  if (down > 0)
    return {
      tone: healthWords.failing.tone,
      text: `${countOf(down, "webhook", "webhooks")} failing`,
      states: ["failing", "circuit_open"],
    };
  if (suspended > 0)
    return {
      tone: healthWords.suspended.tone,
      text: `${countOf(suspended, "webhook", "webhooks")} suspended`,
      states: ["suspended"],
    };
  return { tone: "good", text: "Delivering", states: [] };
}

function otherStates(counts: HealthCounts): string {
  const hasFailing = counts.failing + counts.circuit_open > 0;
  const named = (["suspended", "paused", "disabled", "unverified"] as const).filter(
    (state) => counts[state] > 0 && (hasFailing || state !== "suspended"),
  );
  const texts = named.map((state) => `${counts[state].toLocaleString()} ${state}`);
  return texts.length === 0 ? "" : `${texts.join(", ")}. `;
}

function countOf(count: number, ...[one, many]: readonly [string, string]): string {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
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
            Events were published, but no webhook subscribes to them.{" "}
            <a href={pagePath("webhooks")}>Webhooks</a>
          </p>
        ) : (
          <DeliveryTable caption="Recent deliveries, newest first" rows={rows} />
        )}
      </Panel>
    </div>
  );
}

/** Commands to run before the first event, with the address of this server. */
function FirstSteps() {
  const url = root.origin === "http://127.0.0.1:8080" ? "" : ` --url ${root.href.replace(/\/$/, "")}`;
  return (
    <section class="panel first-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">No events published yet</h2>
      <p>This page updates automatically when the first event arrives.</p>
      <ol>
        <li>
          <p>Subscribe a local receiver that prints each message:</p>
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
