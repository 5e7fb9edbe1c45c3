import { useSignal } from "@preact/signals";
import { useApi } from "../../shared/queries.ts";
import type { Delivery, DeliveryPage } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { reasonOf } from "../endpoint/endpoint-state.ts";
import { t } from "../shell/language.ts";
import { Chips, ErrorText, Table, When } from "../shell/parts.tsx";
import { portalPath } from "../shell/paths.ts";

export function ActivityPage() {
  return (
    <>
      <h1>{t("activity.title")}</h1>
      <section class="panel">
        <DeliveryList webhookId={null} caption={t("activity.title")} />
      </section>
    </>
  );
}

const filters = ["all", "failed", "accepted"] as const;
type Filter = (typeof filters)[number];

const statuses: Readonly<Record<Filter, readonly string[]>> = {
  all: [],
  failed: ["failed", "exhausted", "circuit_blocked"],
  accepted: ["success"],
};

/** Messages of one endpoint or of all, with state and next attempt. */
export function DeliveryList(props: { readonly webhookId: string | null; readonly caption: string }) {
  const { webhookId, caption } = props;
  const filter = useSignal<Filter>("all");
  const cursor = useSignal<string | null>(null);
  const path = webhookId === null ? "v1/deliveries" : `v1/webhooks/${webhookId}/deliveries`;
  const include = webhookId === null ? ["last_attempt", "webhook"] : ["last_attempt"];
  const query = { limit: 25, include, status: statuses[filter.value], cursor: cursor.value };
  const { data, error, isLoading, isOld } = useApi<DeliveryPage>({ path, query });
  return (
    <>
      <Chips
        label={t("filter.label")}
        names={filters}
        chosen={filter.value}
        textOf={(name) => t(`filter.${name}`)}
        choose={(name) => {
          filter.value = name;
          cursor.value = null;
        }}
      />
      {error !== null && <ErrorText error={error} />}
      {(isLoading || (isOld && data?.data.length === 0)) && <p class="soft">{t("loading")}</p>}
      {!isOld && data?.data.length === 0 && <p class="soft">{t("activity.none")}</p>}
      {data !== null && data.data.length > 0 && (
        <Table
          caption={caption}
          columns={[
            [t("column.event"), (delivery) => <Subject delivery={delivery} showsUrl={webhookId === null} />],
            [t("column.result"), (delivery) => <Result delivery={delivery} />],
            [t("column.tries"), (delivery) => delivery.attempt_count],
            [t("column.when"), (delivery) => <When at={delivery.last_attempt_at ?? delivery.created_at} />],
            [t("column.next"), (delivery) => <When at={delivery.next_attempt_at} />],
          ]}
          rows={data.data}
          keyOf={({ id }) => id}
          isOld={isOld}
        />
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

function Subject({ delivery, showsUrl }: { readonly delivery: Delivery; readonly showsUrl: boolean }) {
  const { event_id: id, event_type: type, webhook } = delivery;
  return (
    <>
      <a href={portalPath(`messages/${id}`)}>{type}</a>
      {showsUrl && webhook !== null && webhook !== undefined && (
        <span class="soft row-url">{webhook.url}</span>
      )}
    </>
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
      {hasFailed && <span class="soft result-reason"> {reasonOf(code, category)}</span>}
    </>
  );
}
