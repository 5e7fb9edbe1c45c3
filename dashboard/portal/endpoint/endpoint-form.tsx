import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import type { UrlCheck, Webhook } from "../../shared/resources.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { Facts } from "../../shared/ui/data-table.tsx";
import { TextField } from "../../shared/ui/field.tsx";
import { EventPicker } from "../event-types/event-types.tsx";
import { known, t } from "../shell/language.ts";
import { Form } from "../shell/parts.tsx";
import { may } from "../shell/session.ts";

/** Fields of every endpoint. Typed values survive refreshes. */
interface EndpointDraft {
  readonly url: Signal<string>;
  readonly events: Signal<readonly string[]>;
  readonly description: Signal<string>;
}

export function useDraft(first: Pick<Webhook, "url" | "events" | "description">): EndpointDraft {
  return {
    url: useSignal(first.url),
    events: useSignal<readonly string[]>(first.events),
    description: useSignal(first.description),
  };
}

export function draftBody({ url, events, description }: EndpointDraft): object {
  return { url: url.value, events: events.value, description: description.value };
}

/**
 * Fields for the URL, events and description. `except` is the endpoint being edited, which may already have this URL.
 */
export function EndpointFields(props: { readonly draft: EndpointDraft; readonly except: string | null }) {
  const { url, events, description } = props.draft;
  return (
    <>
      <AddressField value={url} except={props.except} />
      <EventPicker value={events} />
      <TextField label={t("field.description")} value={description} maxLength={1_024} />
    </>
  );
}

const checkDelayMs = 350;

/** URL field that is validated while the user types, with the same rules as when messages are sent. */
function AddressField({ value, except }: { readonly value: Signal<string>; readonly except: string | null }) {
  const checked = useSignal<UrlCheck | null>(null);
  const url = value.value;
  useEffect(() => {
    checked.value = null;
    if (url.length < 8) return undefined;
    const ended = new AbortController();
    const check = async () => {
      const call = { method: "POST", path: "v1/webhooks/check-url", body: { url } } as const;
      checked.value = (await callApi<UrlCheck>({ ...call, signal: ended.signal })).value;
    };
    const timer = setTimeout(() => void check().catch(() => undefined), checkDelayMs);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [url]);
  return (
    <TextField
      label={t("field.url")}
      value={value}
      note={addressNote(checked.value, except)}
      isWrong={checked.value?.acceptable === false}
      isLive
      type="url"
      inputMode="url"
      autocomplete="off"
      spellcheck={false}
      required
      placeholder="https://example.com/webhooks"
    />
  );
}

function addressNote(found: UrlCheck | null, except: string | null): string {
  if (found === null) return t("field.url.hint");
  if (!found.acceptable) {
    const key = `url.${found.code ?? ""}`;
    return known(key) ? t(key) : (found.detail ?? "");
  }
  const isDuplicate = found.duplicate_of !== null && found.duplicate_of !== except;
  return t(isDuplicate ? "url.duplicate" : "field.url.ok");
}

/** Settings form. If the session may not change endpoints, the settings are read-only. */
export function EndpointSettings({ webhook }: { readonly webhook: Webhook }) {
  return may("endpoints:write") ? <SettingsForm webhook={webhook} /> : <SettingsFacts webhook={webhook} />;
}

function SettingsForm({ webhook }: { readonly webhook: Webhook }) {
  const draft = useDraft(webhook);
  const perMinute = useSignal(limitOf(webhook));
  const isSaved = useSignal(false);
  const save = async () => {
    isSaved.value = false;
    const limit = Number(perMinute.value);
    const rate = perMinute.value === "" ? null : { requests_per_minute: limit, burst: Math.min(20, limit) };
    const body = { ...draftBody(draft), rate_limit: rate };
    await callApi({ method: "PATCH", path: `v1/webhooks/${webhook.id}`, body });
    isSaved.value = true;
    announce(t("saved"));
    await refreshAll();
  };
  return (
    <Form label={t("save")} tools={isSaved.value && <span class="soft">{t("saved")}</span>} send={save}>
      <EndpointFields draft={draft} except={webhook.id} />
      <TextField
        label={t("field.rate")}
        value={perMinute}
        note={t("field.rate.hint")}
        type="number"
        min="1"
        max="1000000"
      />
    </Form>
  );
}

/** Rate limit as text. Empty if the endpoint has no limit. */
function limitOf({ rate_limit: limit }: Webhook): string {
  const given = limit as { readonly requests_per_minute: number } | null;
  return given === null ? "" : String(given.requests_per_minute);
}

function SettingsFacts({ webhook }: { readonly webhook: Webhook }) {
  const { url, events } = webhook;
  return (
    <Facts
      rows={[
        [t("field.url"), url],
        [t("field.events"), events.join(", ")],
        [t("field.rate"), limitOf(webhook) || "–"],
      ]}
    />
  );
}
