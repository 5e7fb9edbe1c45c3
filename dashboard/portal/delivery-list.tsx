import { useSignal } from "@preact/signals";
import { useApi } from "../shared/queries.ts";
import type { Delivery, DeliveryPage } from "../shared/resources.ts";
import { Badge } from "../shared/ui/badge.tsx";
import type { Tone } from "../shared/ui/tone.ts";
import { reasonOf } from "./endpoint/state.ts";
import { ErrorText } from "./error-text.tsx";
import { t } from "./language.ts";
import { portalPath } from "./paths.ts";
import { When } from "./when.tsx";

const filters = ["all", "failed", "accepted"] as const;
type Filter = (typeof filters)[number];

const statuses: Readonly<Record<Filter, readonly string[]>> = {
  all: [],
  failed: ["failed", "exhausted", "circuit_blocked", "retrying"],
  accepted: ["success"],
};

/** Messages of one endpoint or of all, with state and next attempt. */
export function DeliveryList(props: { readonly webhookId: string | null; readonly caption: string }) {
  const { webhookId, caption } = props;
  const filter = useSignal<Filter>("all");
  const cursor = useSignal<string | null>(null);
  const path = webhookId === null ? "v1/deliveries" : `v1/webhooks/${webhookId}/deliveries`;
  const wanted = statuses[filter.value].filter((status) => status !== "retrying");
  const include = webhookId === null ? ["last_attempt", "webhook"] : ["last_attempt"];
  const query = { limit: 25, include, status: wanted, cursor: cursor.value };
  const { data, error, isLoading, isOld } = useApi<DeliveryPage>({ path, query });
  return (
    <>
      <div class="chips" role="group" aria-label={t("filter.label")}>
        {filters.map((name) => (
          <button
            key={name}
            type="button"
            class={`chip${filter.value === name ? " chip-on" : ""}`}
            aria-pressed={filter.value === name}
            onClick={() => {
              filter.value = name;
              cursor.value = null;
            }}
          >
            {t(`filter.${name}`)}
          </button>
        ))}
      </div>
      {error !== null && <ErrorText error={error} />}
      {(isLoading || (isOld && data?.data.length === 0)) && <p class="soft">{t("loading")}</p>}
      {!isOld && data?.data.length === 0 && <p class="soft">{t("activity.none")}</p>}
      {(data?.data.length ?? 0) > 0 && (
        <table class="messages" aria-busy={isOld}>
          <caption class="off-screen">{caption}</caption>
          <thead>
            <tr>
              <th scope="col">{t("column.event")}</th>
              <th scope="col">{t("column.result")}</th>
              <th scope="col">{t("column.tries")}</th>
              <th scope="col">{t("column.when")}</th>
              <th scope="col">{t("column.next")}</th>
            </tr>
          </thead>
          <tbody>
            {data?.data.map((delivery) => (
              <Row key={delivery.id} delivery={delivery} showsUrl={webhookId === null} />
            ))}
          </tbody>
        </table>
      )}
      <p class="table-end">
        {cursor.value !== null && (
          <button type="button" onClick={() => (cursor.value = null)}>
            {t("page.first")}
          </button>
        )}
        {(data?.next_cursor ?? null) !== null && (
          <button type="button" onClick={() => (cursor.value = data?.next_cursor ?? null)}>
            {t("page.older")}
          </button>
        )}
      </p>
    </>
  );
}

function Row({ delivery, showsUrl }: { readonly delivery: Delivery; readonly showsUrl: boolean }) {
  return (
    <tr>
      <th scope="row">
        <a href={portalPath(`messages/${delivery.event_id}`)}>{delivery.event_type}</a>
        {showsUrl && delivery.webhook !== null && delivery.webhook !== undefined && (
          <span class="soft row-url">{delivery.webhook.url}</span>
        )}
      </th>
      <td data-title={t("column.result")}>
        <Result delivery={delivery} />
      </td>
      <td data-title={t("column.tries")}>{delivery.attempt_count}</td>
      <td data-title={t("column.when")}>
        <When at={delivery.last_attempt_at ?? delivery.created_at} />
      </td>
      <td data-title={t("column.next")}>
        <When at={delivery.next_attempt_at} />
      </td>
    </tr>
  );
}

const tones: Readonly<Record<string, Tone>> = {
  success: "good",
  pending: "wait",
  in_progress: "wait",
  failed: "wait",
  circuit_blocked: "wait",
  exhausted: "bad",
  skipped: "off",
  cancelled: "off",
};

/** State of a delivery, and the reason if it failed. */
export function Result({ delivery }: { readonly delivery: Delivery }) {
  const { status, last_http_status_code: code, failure_category: category } = delivery;
  const hasFailed = category !== null && status !== "success";
  return (
    <>
      <Badge tone={tones[status] ?? "off"} text={t(`status.${status}` as "status.success")} />
      {hasFailed && <span class="soft result-reason"> {reasonOf({ status: code, category })}</span>}
    </>
  );
}
