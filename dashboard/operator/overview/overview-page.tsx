import { useSignal } from "@preact/signals";
import type { Gauges } from "../../shared/charts/statistics.ts";
import { counted, plural } from "../../shared/format.ts";
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
import { listedColumns } from "../delivery/delivery-table.tsx";
import { answerText, waitingOf } from "../delivery/wording.ts";
import { mayAdminister } from "../form/action-button.tsx";
import { Rows } from "../lists/list-page.tsx";
import { useSettledRows } from "../lists/new-rows.tsx";
import { headlineOf, useOpenProblems } from "../problems/open-problems.tsx";
import { TimePhrase } from "../shell/detail-page.tsx";
import { useStatisticsRange, usualRange } from "../statistics/traffic-panels.tsx";
import { type Health, healthWords, statusReasonText, WebhookLink } from "../webhook/webhook-link.tsx";
import { Traffic, useTopWebhooks } from "./traffic.tsx";
import { type Trouble, troublesOf } from "./troubles.ts";

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

/** Summary line of the page: the worst health of any webhook, then the backlog. */
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
            `${counted(gauges.now.waiting, "delivery", "deliveries")} waiting, ${counted(gauges.now.dead_letters, "dead letter", "dead letters")}.`}
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
      text: `${counted(down, "webhook", "webhooks")} failing`,
      states: ["failing", "circuit_open"],
    };
  if (suspended > 0)
    return {
      tone: healthWords.suspended.tone,
      text: `${counted(suspended, "webhook", "webhooks")} suspended`,
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

function RecentDeliveries({ recent }: { readonly recent: ReturnType<typeof useApi<DeliveryPage>> }) {
  const isPointedAt = useSignal(false);
  const { rows, waiting, merge } = useSettledRows(recent, "recent", !isPointedAt.value);
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
        <Rows
          caption="Recent deliveries, newest first"
          columns={listedColumns}
          rows={rows}
          none={
            <p class="soft">
              Events were published, but no webhook subscribes to them.{" "}
              <a href={pagePath("webhooks")}>Webhooks</a>
            </p>
          }
        />
      </Panel>
    </div>
  );
}

/** Commands to run before the first event, with the URL of this server. */
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

const shownMax = 8;
const problemsMax = 3;

function AttentionList(props: {
  readonly troubles: readonly Trouble[];
  /**
   * Whether the underlying lists are complete. Incomplete lists would give counts that are too low, so counts per
   * webhook are omitted.
   */
  readonly isWhole: boolean;
}) {
  const { troubles, isWhole } = props;
  if (troubles.length === 0) {
    return <p class="soft">No disabled webhooks, no retrying deliveries, no dead letters.</p>;
  }
  return (
    <ul class="entry-list">
      {troubles.slice(0, shownMax).map((trouble) => (
        <TroubleItem key={trouble.webhookId} trouble={trouble} isWhole={isWhole} />
      ))}
      {troubles.length > shownMax && (
        <li>
          <a href={pagePath("webhooks")}>{troubles.length - shownMax} more</a>
        </li>
      )}
    </ul>
  );
}

function TroubleItem({ trouble, isWhole }: { readonly trouble: Trouble; readonly isWhole: boolean }) {
  const { webhookId, url, waiting, deadCount, inactive, problems } = trouble;
  const next = waiting[0];
  return (
    <li>
      <div class="entry-head">
        <Badge {...badgeOf(trouble)} />
        <WebhookLink id={webhookId} url={url} />
      </div>
      {problems.slice(0, problemsMax).map((problem) => (
        <p key={problem.id} class="trouble-problem">
          <a href={pagePath(`problems/${problem.id}`)}>{headlineOf(problem)}</a>{" "}
          <span class="soft">{problem.remedy}</span>
        </p>
      ))}
      <p>
        {inactive !== null && (
          <>
            The webhook is {inactive.status}: {statusReasonText(inactive.status_reason)}.{" "}
          </>
        )}
        {next !== undefined && <NextSentence count={isWhole ? waiting.length : null} next={next} />}
        {deadCount > 0 && (
          <>{isWhole ? counted(deadCount, "dead letter", "dead letters") : "Dead letters"}. </>
        )}
      </p>
      <p class="trouble-links">
        {next !== undefined && <a href={pagePath(`deliveries/${next.id}`)}>Why?</a>}
        {waiting.length > 0 && (
          <a href={`${pagePath("deliveries")}?webhook_id=${webhookId}&status=failed&status=circuit_blocked`}>
            Waiting deliveries
          </a>
        )}
        {deadCount > 0 && <a href={`${pagePath("dead-letters")}?webhook_id=${webhookId}`}>Dead letters</a>}
      </p>
    </li>
  );
}

/** Health of the webhook, which may have dead letters or waiting deliveries even if it is healthy. */
function badgeOf({ health, waiting, deadCount }: Trouble): Parameters<typeof Badge>[0] {
  if (health !== null && health !== "healthy") return healthWords[health];
  if (deadCount > 0) return { tone: "bad", text: plural(deadCount, "Dead letter", "Dead letters") };
  return waiting.length > 0 ? { tone: "wait", text: "Retrying" } : { tone: "wait", text: "Open problem" };
}

function NextSentence({ count, next }: { readonly count: number | null; readonly next: Delivery }) {
  const answer = answerText({ status_code: next.last_http_status_code, category: next.failure_category });
  return (
    <>
      {count === null ? "Deliveries waiting" : `${counted(count, "delivery", "deliveries")} waiting`}. The
      last response was <strong>{answer}</strong>.{" "}
      {next.waiting_for !== null && (
        <>
          Waiting for: {waitingOf(next.waiting_for).short}
          <TimePhrase before=", " at={next.waiting_until} />.{" "}
        </>
      )}
    </>
  );
}
