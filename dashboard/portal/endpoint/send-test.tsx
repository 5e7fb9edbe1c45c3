import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import { useApi } from "../../shared/queries.ts";
import type { Attempt, DeliveryDetail, Webhook } from "../../shared/resources.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { Badge } from "../../shared/ui/badge.tsx";
import { SelectField, TextAreaField } from "../../shared/ui/field.tsx";
import { useEventTypes } from "../event-types/event-types.tsx";
import { t } from "../shell/language.ts";
import { Action, Text } from "../shell/parts.tsx";
import { reasonOf } from "./endpoint-state.ts";

const testType = "posthorn.test";

/** Sends a test message, optionally with an event type from the catalogue, and shows the response. */
export function SendTest({ webhook }: { readonly webhook: Webhook }) {
  const sent = useSignal<string | null>(null);
  const type = useSignal(testType);
  /** JSON text. If empty, the example of the type is sent. */
  const own = useSignal("");
  const isNoJson = useSignal(false);
  const types = useEventTypes().data?.data ?? [];
  const example = types.find(({ name }) => name === type.value)?.examples[0];
  const send = async () => {
    const data = ownData(own.value);
    isNoJson.value = data === null;
    if (data === null) return null;
    const { value } = await callApi<{ readonly delivery_id: string }>({
      method: "POST",
      path: `v1/webhooks/${webhook.id}/test`,
      body: { event_type: type.value, data },
    });
    sent.value = value.delivery_id;
    return null;
  };
  return (
    <>
      <div class="actions">
        {types.length > 0 && (
          <SelectField
            label={t("test.type")}
            value={type}
            options={[testType, ...types.map(({ name }) => name)].map((name) => [name, name])}
          />
        )}
        <Action run={send} isPrimary>
          {t("test.send")}
        </Action>
      </div>
      <details>
        <summary>{t("test.own")}</summary>
        <TextAreaField
          label={t("message.data")}
          value={own}
          note={t(isNoJson.value ? "test.own.invalid" : "test.own.hint")}
          isWrong={isNoJson.value}
          isLive
          rows={5}
          dir="ltr"
          spellcheck={false}
          placeholder={example === undefined ? "{}" : JSON.stringify(example, null, 2)}
        />
      </details>
      {sent.value !== null && <TestResult key={sent.value} deliveryId={sent.value} />}
    </>
  );
}

/** Parses the typed data. Undefined if the text is empty, null if it is not a JSON object. */
function ownData(text: string): object | null | undefined {
  if (text.trim() === "") return undefined;
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** Polls for the response to a test message. */
function TestResult({ deliveryId }: { readonly deliveryId: string }) {
  const { data } = useApi<DeliveryDetail>({ path: `v1/deliveries/${deliveryId}` }, { everyMs: 1_000 });
  const attempt = data?.attempts.at(-1);
  const said = attempt === undefined ? t("test.waiting") : attemptText(attempt);
  useEffect(() => {
    if (attempt !== undefined) announce(said);
  }, [said]);
  const tone = attempt?.outcome === "accepted" ? "good" : "bad";
  return (
    <div class="test-result">
      <p>
        <Badge tone={attempt === undefined ? "wait" : tone} text={said} />
      </p>
      {attempt !== undefined && <AttemptResponse attempt={attempt} label={t("attempt.answerBody")} />}
    </div>
  );
}

/** Text that says whether the attempt was accepted and, if not, why. */
export function attemptText({
  outcome,
  http_status_code: status,
  failure_category: category,
}: Attempt): string {
  return outcome === "accepted" ? t("test.accepted") : reasonOf(status, category);
}

/** Status, duration and body of the response, if the receiver sent one. */
export function AttemptResponse({ attempt, label }: { readonly attempt: Attempt; readonly label: string }) {
  const { http_status_code: status, duration_ms: ms, response_body_sample: body } = attempt;
  return (
    <>
      {status !== null && (
        <p class="soft">{t("test.answer", { status: String(status), ms: Math.round(ms) })}</p>
      )}
      {body !== null && body !== "" && <Text text={body} label={label} />}
    </>
  );
}
