import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import type { Webhook } from "../../shared/resources.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { ErrorText } from "../error-text.tsx";
import { t } from "../language.ts";
import { may } from "../session.ts";
import { draftBody, EndpointFields, useDraft, useSubmit } from "./endpoint-fields.tsx";

/** Settings form, or read-only facts without the capability to change endpoints. */
export function EndpointSettings({ webhook }: { readonly webhook: Webhook }) {
  return may("endpoints:write") ? <SettingsForm webhook={webhook} /> : <Facts webhook={webhook} />;
}

function SettingsForm({ webhook }: { readonly webhook: Webhook }) {
  const draft = useDraft(webhook);
  const perMinute = useSignal(webhook.rate_limit === null ? "" : String(limitOf(webhook)));
  const isSaved = useSignal(false);
  const id = useId();
  const { error, onSubmit } = useSubmit(async () => {
    isSaved.value = false;
    const limit = Number(perMinute.value);
    const rate = perMinute.value === "" ? null : { requests_per_minute: limit, burst: Math.min(20, limit) };
    const body = { ...draftBody(draft), rate_limit: rate };
    await callApi({ method: "PATCH", path: `v1/webhooks/${webhook.id}`, body });
    isSaved.value = true;
    announce(t("saved"));
    await refreshAll();
  });
  return (
    <form class="form" onSubmit={onSubmit}>
      <EndpointFields draft={draft} except={webhook.id} />
      <p class="field">
        <label for={id}>{t("field.rate")}</label>
        <input
          id={id}
          type="number"
          min="1"
          max="1000000"
          value={perMinute.value}
          aria-describedby={`${id}-note`}
          onInput={({ currentTarget }) => (perMinute.value = currentTarget.value)}
        />
        <span id={`${id}-note`} class="soft">
          {t("field.rate.hint")}
        </span>
      </p>
      {error !== null && <ErrorText error={error} />}
      <p class="actions">
        <button type="submit" class="primary">
          {t("save")}
        </button>
        {isSaved.value && <span class="soft">{t("saved")}</span>}
      </p>
    </form>
  );
}

function limitOf({ rate_limit: limit }: Webhook): number {
  return (limit as { readonly requests_per_minute: number } | null)?.requests_per_minute ?? 0;
}

function Facts({ webhook }: { readonly webhook: Webhook }) {
  return (
    <dl class="facts">
      <div>
        <dt>{t("field.url")}</dt>
        <dd>{webhook.url}</dd>
      </div>
      <div>
        <dt>{t("field.events")}</dt>
        <dd>{webhook.events.join(", ")}</dd>
      </div>
      <div>
        <dt>{t("field.rate")}</dt>
        <dd>{webhook.rate_limit === null ? "–" : String(limitOf(webhook))}</dd>
      </div>
    </dl>
  );
}
