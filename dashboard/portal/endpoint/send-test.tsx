import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import type { Webhook } from "../../shared/resources.ts";
import { Action } from "../action.tsx";
import { t } from "../language.ts";
import { useEventTypes } from "./event-picker.tsx";
import { TestResult } from "./test-result.tsx";

/** Sends a test message, optionally of a catalogue type, and shows the response. */
export function SendTest({ webhook }: { readonly webhook: Webhook }) {
  const sent = useSignal<string | null>(null);
  const type = useSignal("posthorn.test");
  /** JSON text. If empty, the example of the type is sent. */
  const own = useSignal("");
  const isNoJson = useSignal(false);
  const types = useEventTypes().data?.data ?? [];
  const id = useId();
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
          <>
            <label for={id}>{t("test.type")}</label>
            <select
              id={id}
              value={type.value}
              onChange={({ currentTarget }) => (type.value = currentTarget.value)}
            >
              <option value="posthorn.test">posthorn.test</option>
              {types.map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </>
        )}
        <Action run={send} isPrimary>
          {t("test.send")}
        </Action>
      </div>
      <details>
        <summary>{t("test.own")}</summary>
        <p class="field">
          <label for={`${id}-own`}>{t("message.data")}</label>
          <textarea
            id={`${id}-own`}
            rows={5}
            dir="ltr"
            spellcheck={false}
            placeholder={example === undefined ? "{}" : JSON.stringify(example, null, 2)}
            value={own.value}
            aria-describedby={`${id}-own-note`}
            aria-invalid={isNoJson.value}
            onInput={({ currentTarget }) => (own.value = currentTarget.value)}
          />
          <span id={`${id}-own-note`} role="status" class={isNoJson.value ? "bad-text" : "soft"}>
            {t(isNoJson.value ? "test.own.invalid" : "test.own.hint")}
          </span>
        </p>
      </details>
      {sent.value !== null && <TestResult key={sent.value} deliveryId={sent.value} />}
    </>
  );
}

/** Undefined for empty text, null if it is not a JSON object. */
function ownData(text: string): object | null | undefined {
  if (text.trim() === "") return undefined;
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
