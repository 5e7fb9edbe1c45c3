import { useSignal } from "@preact/signals";
import { useRoute } from "preact-iso";
import { callApi } from "../../shared/api.ts";
import { memberText } from "../../shared/json-tokens.ts";
import { refreshAll, useApi } from "../../shared/queries.ts";
import type { Delivery, DeliveryDetail, DeliveryPage } from "../../shared/resources.ts";
import { AttemptResponse, attemptText } from "../endpoint/send-test.tsx";
import { counted, moment, t } from "../shell/language.ts";
import { Action, ErrorText, Text } from "../shell/parts.tsx";
import { portalPath } from "../shell/paths.ts";
import { may } from "../shell/session.ts";
import { Result } from "./delivery-list.tsx";

/** One message: its content, and its delivery to each endpoint. */
export function MessagePage() {
  const { params } = useRoute();
  const id = params["id"] ?? "";
  const deliveries = useApi<DeliveryPage>({
    path: `v1/events/${id}/deliveries`,
    query: { include: "webhook", limit: 100 },
  });
  const event = useApi<{ readonly event_type: string; readonly timestamp: string }>(
    may("payloads:read") ? { path: `v1/events/${id}` } : null,
    { everyMs: false },
  );
  const type = event.data?.event_type ?? deliveries.data?.data[0]?.event_type ?? t("message.title");
  const data = memberText(event.text, { member: "data" });
  return (
    <>
      <h1>{type}</h1>
      {event.data !== null && <p class="soft">{moment(event.data.timestamp)}</p>}
      {deliveries.error !== null && <ErrorText error={deliveries.error} />}
      {data !== null && (
        <section class="panel">
          <h2>{t("message.data")}</h2>
          <Text text={data} label={t("message.data")} />
        </section>
      )}
      {deliveries.data?.data.map((delivery) => (
        <One key={delivery.id} delivery={delivery} />
      ))}
    </>
  );
}

function One({ delivery }: { readonly delivery: Delivery }) {
  const isOpen = useSignal(delivery.status !== "success");
  const { webhook } = delivery;
  const retry = async () => {
    const { value } = await callApi<Pick<Delivery, "waiting_for" | "waiting_until">>({
      method: "POST",
      path: `v1/webhooks/${delivery.webhook_id}/deliveries/${delivery.id}/retry`,
      body: {},
    });
    await refreshAll();
    return retriedText(value);
  };
  const title = webhook?.url ?? t("message.deleted");
  return (
    <section class="panel">
      <h2 class="card-url">
        {webhook === null || webhook === undefined ? (
          title
        ) : (
          <a href={portalPath(`endpoints/${webhook.id}`)}>{title}</a>
        )}
      </h2>
      <p>
        <Result delivery={delivery} />
      </p>
      {delivery.next_attempt_at !== null && (
        <p class="soft">{t("wrong.next", { at: moment(delivery.next_attempt_at) })}</p>
      )}
      <div class="actions">
        {may("deliveries:retry") && delivery.waiting_for !== "in_flight" && (
          <Action run={retry}>{t(delivery.status === "success" ? "retry.again" : "retry.now")}</Action>
        )}
        {delivery.attempt_count > 0 && (
          <button type="button" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
            {counted("attempts", delivery.attempt_count)}
          </button>
        )}
      </div>
      {isOpen.value && delivery.attempt_count > 0 && <Attempts id={delivery.id} at={title} />}
    </section>
  );
}

/** Result of a retry as text. It says "sent" if the retry is sent immediately or after a short wait. */
function retriedText({
  waiting_for,
  waiting_until,
}: Pick<Delivery, "waiting_for" | "waiting_until">): string {
  if (waiting_for === null || sentSoon.has(waiting_for)) return t("retry.sent");
  return waiting_until === null ? t("retry.waits") : t("retry.waitsUntil", { at: moment(waiting_until) });
}

const sentSoon: ReadonlySet<string> = new Set(["in_flight", "concurrency", "capacity", "schedule"]);

function Attempts({ id, at }: { readonly id: string; readonly at: string }) {
  const { data } = useApi<DeliveryDetail>({ path: `v1/deliveries/${id}` });
  return (
    <ol class="attempts">
      {data?.attempts.map((attempt) => (
        <li key={attempt.id}>
          <p>
            {attemptText(attempt)} <span class="soft">{moment(attempt.executed_at)}</span>
          </p>
          <AttemptResponse
            attempt={attempt}
            label={t("attempt.answerOf", { number: attempt.attempt_number, url: at })}
          />
        </li>
      ))}
    </ol>
  );
}
