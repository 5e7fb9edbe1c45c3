import { useSignal } from "@preact/signals";
import { ApiError, callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import type { Webhook } from "../../shared/resources.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { ErrorText } from "../error-text.tsx";
import { t } from "../language.ts";
import { may } from "../session.ts";
import { AddressField } from "./address-field.tsx";
import { EventPicker } from "./event-picker.tsx";

/** What was typed stays, whatever is refreshed around it. */
export function SettingsForm({ webhook }: { readonly webhook: Webhook }) {
  const url = useSignal(webhook.url);
  const events = useSignal<readonly string[]>(webhook.events);
  const description = useSignal(webhook.description);
  const perMinute = useSignal(webhook.rate_limit === null ? "" : String(limitOf(webhook)));
  const error = useSignal<ApiError | null>(null);
  const isSaved = useSignal(false);
  if (!may("endpoints:write")) return <Facts webhook={webhook} />;
  const save = async () => {
    error.value = null;
    isSaved.value = false;
    const limit = Number(perMinute.value);
    const body = {
      ...{ url: url.value, events: events.value, description: description.value },
      rate_limit: perMinute.value === "" ? null : { requests_per_minute: limit, burst: Math.min(20, limit) },
    };
    try {
      await callApi({ method: "PATCH", path: `v1/webhooks/${webhook.id}`, body });
      isSaved.value = true;
      announce(t("saved"));
      await refreshAll();
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      error.value = failure;
    }
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <AddressField value={url.value} except={webhook.id} onChange={(value) => (url.value = value)} />
      <EventPicker value={events.value} onChange={(value) => (events.value = value)} />
      <p class="field">
        <label for="endpoint-description">{t("field.description")}</label>
        <input
          id="endpoint-description"
          maxLength={1_024}
          value={description.value}
          onInput={({ currentTarget }) => (description.value = currentTarget.value)}
        />
      </p>
      <p class="field">
        <label for="endpoint-rate">{t("field.rate")}</label>
        <input
          id="endpoint-rate"
          type="number"
          min="1"
          max="1000000"
          value={perMinute.value}
          aria-describedby="endpoint-rate-note"
          onInput={({ currentTarget }) => (perMinute.value = currentTarget.value)}
        />
        <span id="endpoint-rate-note" class="soft">
          {t("field.rate.hint")}
        </span>
      </p>
      {error.value !== null && <ErrorText error={error.value} />}
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
