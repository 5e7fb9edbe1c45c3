import type { ComponentChildren } from "preact";
import { type Share, ShareBars } from "../../shared/charts/bars.tsx";
import { Chart } from "../../shared/charts/chart.tsx";
import {
  durationsChart,
  durationsSentence,
  measure,
  type Statistics,
} from "../../shared/charts/statistics.ts";
import { counted, duration, plural, shortSpan } from "../../shared/format.ts";
import { useApi } from "../../shared/queries.ts";
import type { Delivery, Webhook, WebhookBacklog, WebhookHealth } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell, shellOptions, type ShellText } from "../../shared/shell-text.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { PageHead, type Tab, Tabs, useTab } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ClosedGate } from "../delivery/delivery-page.tsx";
import { columnsOfWebhook } from "../delivery/delivery-table.tsx";
import { categoryText } from "../delivery/wording.ts";
import { mayManage } from "../form/action-button.tsx";
import { ResourceList } from "../lists/list-page.tsx";
import { DetailPage, IdText, TimePhrase, useRouteId } from "../shell/detail-page.tsx";
import { TrafficPanel, useStatisticsRange, usualRange, zoneQuery } from "../statistics/traffic-panels.tsx";
import { RotateButton, WebhookActions } from "./webhook-actions.tsx";
import { Revisions, WebhookTimeline } from "./webhook-history.tsx";
import { shortUrl, statusReasonText, WebhookBadge } from "./webhook-link.tsx";

const tabs: readonly Tab[] = [
  { name: "", title: "Overview" },
  { name: "deliveries", title: "Deliveries" },
  { name: "settings", title: "Settings" },
  { name: "security", title: "Security" },
  { name: "timeline", title: "Timeline" },
  { name: "revisions", title: "Revisions" },
];

export function WebhookPage() {
  const id = useRouteId();
  const webhook = useApi<Webhook>({ path: `v1/webhooks/${id}` });
  const health = useApi<WebhookHealth>({ path: `v1/webhooks/${id}/health` });
  const tab = useTab(tabs);
  const { data, error } = webhook;
  if (data === null) return <NotLoaded error={error} />;
  return (
    <DetailPage id={id} list="webhooks" title="Webhooks">
      <PageHead title={shortUrl(data.url)} beside={<WebhookBadge webhook={data} />}>
        {tab === "" && <RangePicker fallback={usualRange} />}
      </PageHead>
      {data.description !== "" && <p>{data.description}</p>}
      <Tabs label="Webhook sections" tabs={tabs} />
      {tab === "" && (
        <>
          <Panel
            title="Gates"
            loaded={health}
            twin={{ path: `v1/webhooks/${id}/health`, cli: shell`webhooks health ${id}` }}
          >
            {health.data !== null && <Gates webhook={data} health={health.data} />}
            <WebhookActions webhook={data} health={health.data} />
          </Panel>
          <Backlog id={id} />
          <WebhookCharts id={id} />
        </>
      )}
      {tab === "deliveries" && <Deliveries id={id} />}
      {tab === "settings" && <Settings webhook={data} />}
      {tab === "security" && <Security webhook={data} />}
      {tab === "timeline" && <WebhookTimeline id={id} />}
      {tab === "revisions" && <Revisions id={id} />}
    </DetailPage>
  );
}

function Deliveries({ id }: { readonly id: string }) {
  return (
    <ResourceList<Delivery>
      title="Deliveries"
      caption="Deliveries of this webhook, newest first"
      path={`v1/webhooks/${id}/deliveries`}
      query={{ limit: 20 }}
      cli={shell`webhooks deliveries ${id}`}
      columns={columnsOfWebhook}
      none="No deliveries yet."
      tools={<a href={`${pagePath("deliveries")}?webhook_id=${id}`}>All deliveries</a>}
      isExcerpt
    />
  );
}

function Settings({ webhook }: { readonly webhook: Webhook }) {
  const { id, retry_config: retry } = webhook;
  return (
    <Panel title="Settings" twin={{ path: `v1/webhooks/${id}`, cli: shell`webhooks get ${id}` }}>
      <Facts
        rows={[
          ["Webhook", <IdText id={id} />],
          ["URL", <code>{webhook.url}</code>],
          ["Events", webhook.events.join(", ")],
          ["Tenant", webhook.tenant_id],
          ["Profile", webhook.profile],
          ["Format", webhook.payload_format],
          ["Order", webhook.ordering_guarantee],
          ["Maximum attempts", retry.max_attempts],
          ["Timeout", duration(webhook.timeout_ms)],
          ["Created", <When at={webhook.created_at} isExact />],
          ["Changed", <When at={webhook.updated_at} isExact />],
        ]}
      />
    </Panel>
  );
}

/** Gates that can hold deliveries of a webhook: whether each one is open, when it closed, when it opens, and why. */
function Gates({ webhook, health }: { readonly webhook: Webhook; readonly health: WebhookHealth }) {
  const { circuit_breaker: circuit, paused_until, pause_reason, in_flight } = health;
  const isActive = webhook.status === "active";
  return (
    <ul class="gates">
      <Gate title="Webhook" isOpen={isActive}>
        {isActive ? "active" : `${webhook.status}: ${statusReasonText(webhook.status_reason)}`}
      </Gate>
      <Gate title="Manual pause" isOpen={webhook.pause === null}>
        {webhook.pause === null ? (
          "not paused"
        ) : (
          <>
            paused <When at={webhook.pause.since} />
            <TimePhrase before=", until " at={webhook.pause.until} isExact />
            {webhook.pause.reason !== null && `: ${webhook.pause.reason}`}
          </>
        )}
      </Gate>
      <Gate title="Circuit" isOpen={circuit.state === "closed"}>
        {circuit.state === "closed" ? "closed" : circuit.state.replace("_", " ").toLowerCase()}
        {circuit.state !== "closed" && <TimePhrase before=" since " at={circuit.state_transition_at} />}
        <TimePhrase before=", next probe " at={circuit.next_half_open_at} />
        {circuit.total_calls_in_window > 0 && (
          <span class="soft">
            {" "}
            ({circuit.failure_count_in_window} of {circuit.total_calls_in_window} failed)
          </span>
        )}
      </Gate>
      <Gate title="Automatic pause" isOpen={paused_until === null}>
        {paused_until === null ? "none" : (pause_reason ?? "").replaceAll("_", " ")}
        <TimePhrase before=" until " at={paused_until} isExact />
        <TimePhrase before=" (" at={paused_until} after=")" />
      </Gate>
      {health.disables_at !== null && (
        <Gate title="Automatic disabling" isOpen={webhook.active}>
          will be disabled <When at={health.disables_at} isExact /> (<When at={health.disables_at} />) if no
          delivery is accepted until then
        </Gate>
      )}
      {health.gates
        .filter(({ gate }) => gatesWithoutLine.has(gate))
        .map((gate) => (
          <ClosedGate key={gate.gate} {...gate} />
        ))}
      <Gate title="In flight" isOpen>
        {counted(in_flight, "request", "requests")}
      </Gate>
    </ul>
  );
}

/** Gates that are listed only while they are closed. */
const gatesWithoutLine = new Set(["no_signing_key", "rate_limit", "tenant_rate_limit", "order"]);

function Gate(props: {
  readonly title: string;
  readonly isOpen: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <li>
      <Badge tone={props.isOpen ? "good" : "held"} text={props.isOpen ? "open" : "holding"} />
      <strong>{props.title}</strong>
      <span>{props.children}</span>
    </li>
  );
}

/** Waiting deliveries of a webhook, their age, and the estimated time to drain. */
function Backlog({ id }: { readonly id: string }) {
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
      {data !== null && <BacklogSentence backlog={data} />}
    </Panel>
  );
}

function BacklogSentence({ backlog }: { readonly backlog: WebhookBacklog }) {
  const { total, more, waiting, oldest_created_at } = backlog;
  if (total === 0) return <p class="soft">No deliveries waiting.</p>;
  const priorities = Object.entries(waiting).filter(([, count]) => count > 0);
  return (
    <p>
      <strong>
        {total.toLocaleString()}
        {more && " or more"}
      </strong>{" "}
      {plural(total, "delivery", "deliveries")} waiting (
      {priorities.map(([name, count]) => `${name} ${count.toLocaleString()}`).join(", ")}). The oldest was
      created <When at={oldest_created_at} />. {drainText(backlog)}
    </p>
  );
}

/** Without accepted deliveries, the time to drain cannot be estimated. */
function drainText({ accepted_per_second, drain_seconds }: WebhookBacklog): string {
  if (drain_seconds === null) {
    return accepted_per_second === 0
      ? "No delivery was accepted in the last five minutes, so no estimate is possible."
      : "No estimate is possible, because the backlog exceeds the count limit.";
  }
  return `At ${accepted_per_second.toLocaleString(undefined, { maximumFractionDigits: 2 })} per second, the backlog drains in about ${shortSpan(drain_seconds * 1_000)}.`;
}

/** Authentication of requests, and verification of the receiver. Secrets are not shown. */
function Security({ webhook }: { readonly webhook: Webhook }) {
  const { id, verification, client_certificate: certificate, credential_headers: headers } = webhook;
  const names = Object.keys(headers);
  return (
    <Panel title="Security" twin={{ path: `v1/webhooks/${id}`, cli: shell`webhooks get ${id}` }}>
      <Facts
        rows={[
          ["Signatures", webhook.signing.schemes.join(", ") || "none"],
          ["Signing secret", webhook.secret ?? "none"],
          ["Bearer token", webhook.has_bearer_token ? `sent in the ${webhook.bearer_token_in}` : "none"],
          ["Secret headers", names.length === 0 ? "none" : names.join(", ")],
          ["OAuth 2.0", webhook.oauth2 === null ? "none" : "one token per delivery"],
          ["Client certificate", certificate === null ? "none" : certificate.subject],
          ["Receiver verification", permissionText(verification)],
          ["Verified", <When at={verification.granted_at} isExact />],
          verification.dns_record !== null && [
            "DNS record",
            `${verification.dns_record.name} TXT ${verification.dns_record.value}`,
          ],
        ]}
      />
      {mayManage() && (
        <div class="actions">
          <RotateButton path={`v1/webhooks/${id}`} />
        </div>
      )}
    </Panel>
  );
}

function permissionText({ method, state, detail }: Webhook["verification"]): string {
  if (state === "none") return "not required";
  return `${state} by ${method}${detail === null ? "" : `: ${detail}`}`;
}

const measures = "attempts,accepted,transient,terminal,duration_ms_p50,duration_ms_p95";

/** Charts of a webhook over the time range of the page. */
function WebhookCharts({ id }: { readonly id: string }) {
  const range = useStatisticsRange();
  const { flags, narrow } = range;
  const query = { ...range.query, webhook_id: id };
  const loaded = useApi<Statistics>({
    path: "v1/stats/deliveries",
    query: { ...query, ...zoneQuery(), measures },
  });
  const { data } = loaded;
  const twin = { path: "v1/stats/deliveries", query, cli: shell`stats deliveries --webhook ${id}${flags}` };
  return (
    <>
      <TrafficPanel
        of="deliveries"
        {...{ loaded, range }}
        query={{ webhook_id: id }}
        flags={shellOptions([["webhook", id]])}
      />
      <div class="columns-2">
        <Responses query={query} id={id} flags={flags} />
        <Panel title="Response time" loaded={loaded} twin={twin}>
          {data !== null && (
            <Chart
              kind="lines"
              title="Duration"
              chart={durationsChart(data)}
              summary={durationsSentence(data)}
              axisText={duration}
              valueText={duration}
              narrow={narrow}
            />
          )}
        </Panel>
      </div>
    </>
  );
}

interface AnswersProps {
  readonly id: string;
  readonly query: Readonly<Record<string, string>>;
  readonly flags: ShellText;
}

/** Requests by status code. Requests without a response are grouped by failure category. */
function Responses({ id, query, flags }: AnswersProps) {
  const path = "v1/stats/deliveries";
  const byCode = { ...query, group_by: "code" };
  const codes = useApi<Statistics>({ path, query: byCode });
  const categories = useApi<Statistics>({ path, query: { ...query, group_by: "category" } });
  const shares = [
    ...countsOf(codes.data).map(
      ({ key, count }): Share => ({
        key,
        name: <CodeLink id={id} code={key} />,
        count,
        tone: toneOf(key),
      }),
    ),
    ...countsOf(categories.data)
      .filter(({ key }) => hasNoCode.has(key))
      .map(({ key, count }): Share => ({ key, name: categoryText(key), count, tone: "bad" })),
  ].toSorted((left, right) => right.count - left.count);
  return (
    <Panel
      title="Responses"
      loaded={codes}
      twin={{ path, query: byCode, cli: shell`stats deliveries --webhook ${id} --group-by code${flags}` }}
    >
      {shares.length === 0 ? (
        <p class="soft">No requests in this time range.</p>
      ) : (
        <ShareBars label="Responses by status code" shares={shares} />
      )}
    </Panel>
  );
}

/** Failure categories of attempts without a response, which have no status code. */
const hasNoCode = new Set(["timeout", "network", "dns", "ssl", "protocol"]);

function countsOf(statistics: Statistics | null) {
  const counted = (statistics?.series ?? []).map(({ key, totals }) => ({
    key: key ?? "all",
    count: measure(totals, "attempts") ?? 0,
  }));
  return counted.filter(({ key, count }) => count > 0 && key !== "none");
}

function CodeLink({ id, code }: { readonly id: string; readonly code: string }) {
  if (!/^\d{3}$/.test(code)) return <>{code}</>;
  return <a href={`${pagePath("deliveries")}?webhook_id=${id}&http_status=${code}`}>{code}</a>;
}

function toneOf(code: string): Share["tone"] {
  if (code.startsWith("2")) return "good";
  return code.startsWith("4") ? "bad" : "wait";
}
