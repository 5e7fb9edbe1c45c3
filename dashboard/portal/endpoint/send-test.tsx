import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import type { Webhook } from "../../shared/resources.ts";
import { Action } from "../action.tsx";
import { t } from "../language.ts";
import { useEventTypes } from "./event-picker.tsx";
import { TestResult } from "./test-result.tsx";

/** A test message, of a type of the catalogue where there is one, and what came back. */
export function SendTest({ webhook }: { readonly webhook: Webhook }) {
  const sent = useSignal<string | null>(null);
  const type = useSignal("posthorn.test");
  const types = useEventTypes().data?.data ?? [];
  const id = useId();
  const send = async () => {
    const { value } = await callApi<{ readonly delivery_id: string }>({
      method: "POST",
      path: `v1/webhooks/${webhook.id}/test`,
      body: { event_type: type.value },
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
      {sent.value !== null && <TestResult key={sent.value} deliveryId={sent.value} />}
    </>
  );
}
