import { useSignal } from "@preact/signals";
import { bytesOf, hexText, utf8Text } from "../../shared/bytes.ts";
import { duration, shortSpan } from "../../shared/format.ts";
import { useApi } from "../../shared/queries.ts";
import type { Attempt, DeliveryDetail, DeliveryPage, RenderedRequest } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { AsApi } from "../../shared/ui/as-api.tsx";
import { Badge } from "../../shared/ui/badge.tsx";
import { type Column, DataTable, Facts } from "../../shared/ui/data-table.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { CheckBox, SelectField } from "../../shared/ui/field.tsx";
import { TextView } from "../../shared/ui/text-view.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { When } from "../../shared/ui/when.tsx";
import { column } from "../lists/columns.tsx";
import { revisionPath } from "../webhook/webhook-history.tsx";
import {
  answerText,
  type AttemptDifference,
  differencesBetween,
  hasDetails,
  outcomeText,
  timingsText,
  waitingOf,
} from "./wording.ts";

/** All attempts in order, with one of them in detail. */
export function Attempts({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { attempts } = delivery;
  const chosen = useSignal<number | null>(null);
  const at = Math.min(chosen.value ?? attempts.length - 1, attempts.length - 1);
  const attempt = attempts[at];
  const step = (by: number) => (chosen.value = Math.max(0, Math.min(attempts.length - 1, at + by)));
  if (attempt === undefined) return <p class="soft">No attempts yet.</p>;
  return (
    <>
      <Timeline delivery={delivery} chosen={at} choose={(index) => (chosen.value = index)} />
      <div class="attempt-steps">
        <button type="button" data-key="[" disabled={at === 0} onClick={() => step(-1)}>
          Previous
        </button>
        <span>
          Attempt {attempt.attempt_number} of {attempts.length}
        </span>
        <button type="button" data-key="]" disabled={at === attempts.length - 1} onClick={() => step(1)}>
          Next
        </button>
      </div>
      <AttemptView attempt={attempt} webhookId={delivery.webhook_id} />
      <RequestOfAttempt deliveryId={delivery.id} number={attempt.attempt_number} />
      <AttemptComparison delivery={delivery} attempt={attempt} />
    </>
  );
}

type Retry = DeliveryDetail["retries"][number];

const tones: Readonly<Record<Attempt["outcome"], Tone>> = {
  accepted: "good",
  transient: "wait",
  terminal: "bad",
};

/** Timeline of attempts, waits at gates, manual retries and the next attempt. */
function Timeline(props: {
  readonly delivery: DeliveryDetail;
  readonly chosen: number;
  readonly choose: (index: number) => void;
}) {
  const { delivery, chosen, choose } = props;
  const steps = [
    ...delivery.attempts.map((attempt, index) => ({
      at: attempt.executed_at,
      view: (
        <li key={attempt.attempt_number}>
          <button
            type="button"
            class="attempt-button"
            aria-pressed={index === chosen}
            onClick={() => choose(index)}
          >
            <Badge tone={tones[attempt.outcome]} text={answerOf(attempt)} />
            <span class="soft">
              {duration(attempt.duration_ms)}, <When at={attempt.executed_at} />
            </span>
          </button>
        </li>
      ),
    })),
    ...delivery.waits.map(({ from, until, reason }) => ({
      at: from,
      view: (
        <li key={`wait ${from}`} class="timeline-wait">
          held {shortSpan(Date.parse(until) - Date.parse(from))}: {waitingOf(reason).short}
        </li>
      ),
    })),
    ...delivery.retries.map((retry) => ({
      at: retry.at,
      view: (
        <li key={`retry ${retry.at}`}>
          <span class="soft">
            retried <RetriedBy retry={retry} />
          </span>{" "}
          <When at={retry.at} isExact />
        </li>
      ),
    })),
  ].toSorted((left, right) => Date.parse(left.at) - Date.parse(right.at));
  return (
    <ol class="timeline">
      <li>
        <span class="soft">created</span> <When at={delivery.created_at} isExact />
      </li>
      {steps.map(({ view }) => view)}
      {delivery.next_attempt_at !== null && (
        <li class="timeline-due">
          <span class="soft">due</span> <When at={delivery.next_attempt_at} />
        </li>
      )}
    </ol>
  );
}

/** Operation or actor that caused a retry. Empty for retries through the library. */
function RetriedBy({ retry: { by, operation_id } }: { readonly retry: Retry }) {
  if (operation_id !== null)
    return (
      <>
        by an <a href={pagePath(`operations/${operation_id}`)}>operation</a>
      </>
    );
  return by === null ? null : <>by {by.name ?? authors[by.kind]}</>;
}

const authors: Readonly<Record<NonNullable<Retry["by"]>["kind"], string>> = {
  api_key: "an API key",
  dashboard_session: "an operator",
  portal_session: "the customer",
};

function answerOf(attempt: Attempt): string {
  return answerText({ status_code: attempt.http_status_code, category: attempt.failure_category });
}

const retryAfterTexts: Readonly<Record<string, string>> = {
  lower_bound: "applied",
  none: "not needed, because the retry schedule waits longer",
  unparsable: "ignored, not a valid time",
  beyond_horizon: "longer than events are kept",
};

function AttemptView({ attempt, webhookId }: { readonly attempt: Attempt; readonly webhookId: string }) {
  const {
    http_status_code,
    error_message,
    response_body_sample,
    retry_after,
    response_headers: headers,
    peer_address,
    http_version,
    config_revision: revision,
  } = attempt;
  const timings = timingsText(attempt);
  return (
    <div class="attempt">
      <Facts
        rows={[
          ["Sent", <When at={attempt.executed_at} isExact />],
          ["Duration", duration(attempt.duration_ms)],
          ["Status", http_status_code ?? "no response"],
          ["Outcome", outcomeText(attempt)],
          error_message !== null && ["Error", error_message],
          retry_after !== null && [
            "Retry-After",
            `${retry_after.value}, ${retryAfterTexts[retry_after.effect] ?? ""}`,
          ],
          // Connection and configuration are stored for each attempt that was not accepted, and for some others.
          peer_address !== null && ["Connected to", peer_address],
          http_version !== null && ["Protocol", `HTTP/${http_version}`],
          timings !== "" && ["Timings", timings],
          revision !== null && [
            "Configuration",
            <a href={revisionPath(webhookId, revision)}>revision {revision}</a>,
          ],
          attempt.receiver_state_unknown && ["Receiver", "may have processed it without responding"],
        ]}
      />
      <h3>Response</h3>
      {response_body_sample === null || response_body_sample === "" ? (
        <p class="soft">{http_status_code === null ? "No response." : "The response had no body."}</p>
      ) : (
        <TextView text={response_body_sample} label="Response body, first 1,024 bytes" />
      )}
      {headers !== null && headers.length > 0 && (
        <TextView
          text={headers.map(({ name, value }) => `${name}: ${value}`).join("\n")}
          label={attempt.metadata_truncated ? "Response headers, truncated" : "Response headers"}
        />
      )}
    </div>
  );
}

/** Request of an attempt, reconstructed from stored data. Loaded on demand. */
function RequestOfAttempt(props: { readonly deliveryId: string; readonly number: number }) {
  const { deliveryId, number } = props;
  const isOpen = useSignal(false);
  const path = `v1/deliveries/${deliveryId}/attempts/${number}/request`;
  const { data, error } = useApi<RenderedRequest>(isOpen.value ? { path } : null, { everyMs: false });
  return (
    <>
      <h3>Request</h3>
      <p class="actions">
        <button type="button" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
          {isOpen.value ? "Hide request" : "Show request"}
        </button>
        <AsApi
          what="Request"
          twin={{ path, cli: shell`deliveries request ${deliveryId} ${String(number)}` }}
        />
      </p>
      {isOpen.value && error !== null && <ErrorNote error={error} />}
      {isOpen.value && data !== null && data.attempt_number === number && <Rendered request={data} />}
    </>
  );
}

function Rendered({ request }: { readonly request: RenderedRequest }) {
  const { method, url, headers, body_base64, exact, may_differ } = request;
  const isHex = useSignal(false);
  const bytes = bytesOf(body_base64);
  const text = utf8Text(bytes);
  const head = [`${method} ${url}`, ...headers.map(({ name, value }) => `${name}: ${value}`)].join("\n");
  return (
    <>
      <p class="soft">
        {exact
          ? "Reconstructed from stored data, exactly as sent. Secrets are masked."
          : "Reconstructed from stored data. The body is exactly as sent. Other parts may differ:"}
      </p>
      {may_differ.length > 0 && (
        <ul class="samples">
          {may_differ.map(({ parts, detail }) => (
            <li key={detail}>
              {parts.join(", ")}: {detail}
            </li>
          ))}
        </ul>
      )}
      <TextView text={head} label="Request line and headers" />
      <p class="soft">
        {bytes.length.toLocaleString()} bytes{" "}
        {text !== null && bytes.length > 0 && (
          <CheckBox label="hex" isChecked={isHex.value} onChange={(isChecked) => (isHex.value = isChecked)} />
        )}
      </p>
      {bytes.length > 0 && (
        <TextView text={text === null || isHex.value ? hexText(bytes) : text} label="Request body" />
      )}
    </>
  );
}

const nothing = "nothing";
const lastAccepted = "accepted";

/** Compares an attempt with another attempt of its delivery, or with the last accepted attempt of its webhook. */
function AttemptComparison(props: { readonly delivery: DeliveryDetail; readonly attempt: Attempt }) {
  const { delivery, attempt } = props;
  const against = useSignal(nothing);
  const others = delivery.attempts.filter((one) => one.attempt_number !== attempt.attempt_number);
  const other = others.find((one) => String(one.attempt_number) === against.value);
  return (
    <>
      <h3>Compare</h3>
      <div class="fields filters">
        <SelectField
          label="Compare with"
          value={against}
          options={[
            [nothing, "nothing"],
            [lastAccepted, "last accepted by this webhook"],
            ...others.map((one) => [`${one.attempt_number}`, `attempt ${one.attempt_number}`] as const),
          ]}
        />
      </div>
      {other !== undefined && (
        <Differences one={attempt} other={other} title={`Attempt ${other.attempt_number}`} />
      )}
      {against.value === lastAccepted && <LastAccepted delivery={delivery} attempt={attempt} />}
    </>
  );
}

function LastAccepted(props: { readonly delivery: DeliveryDetail; readonly attempt: Attempt }) {
  const { delivery, attempt } = props;
  const { id, webhook_id: webhookId } = delivery;
  const query = { webhook_id: webhookId, status: "success", limit: 1, include: "last_attempt" };
  const { data, error } = useApi<DeliveryPage>({ path: "v1/deliveries", query }, { everyMs: false });
  if (data === null) return error === null ? null : <ErrorNote error={error} />;
  const [accepted] = data.data;
  const other = accepted?.last_attempt ?? null;
  if (accepted === undefined || other === null)
    return <p class="soft">No accepted delivery of this webhook was found in the searched time range.</p>;
  if (accepted.id === id && other.attempt_number === attempt.attempt_number)
    return <p class="soft">This is the last accepted attempt.</p>;
  return (
    <>
      <p>
        Last accepted: <a href={pagePath(`deliveries/${accepted.id}`)}>{accepted.event_type}</a>
      </p>
      <Differences one={attempt} other={other} title="Accepted" />
    </>
  );
}

function Differences(props: { readonly one: Attempt; readonly other: Attempt; readonly title: string }) {
  const { one, other, title } = props;
  const columns: readonly Column<AttemptDifference>[] = [
    column.text("Field", ({ name }) => name),
    column.prose(`Attempt ${one.attempt_number}`, (row) => row.one ?? "–"),
    { title, cell: (row) => row.other ?? "–", isProse: true },
  ];
  return (
    <>
      <DataTable
        caption="Differences"
        columns={columns}
        rows={differencesBetween(one, other)}
        keyOf={({ name }) => name}
        hasNoLinks
      />
      {hasDetails(one) !== hasDetails(other) && (
        <p class="soft">
          Connection, configuration and headers are stored for only one of the two attempts. They are stored
          for each attempt that was not accepted, and for 1 in 100 of the others.
        </p>
      )}
    </>
  );
}
