import { type Signal, useSignal } from "@preact/signals";
import { channelsPathOf, replaceChannel } from "../../shared/channels.ts";
import type { Channel } from "../../shared/resources.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { CheckBox, CheckBoxes, SelectField, TextField } from "../../shared/ui/field.tsx";
import { useEndpoints } from "../endpoint/endpoint-state.ts";
import { known, languages, spoken, t } from "../shell/language.ts";
import { Form } from "../shell/parts.tsx";
import { session } from "../shell/session.ts";

const topics = [
  "first_problem",
  "failing",
  "disabled",
  "circuit",
  "attention",
  "exhausted",
  "problem",
  "paused",
  "secret_rotated",
  "limit_reached",
] as const;
const frequencies = ["immediate", "hourly", "daily"] as const;

export function topicText(topic: string): string {
  const key = `told.topic.${topic}`;
  return known(key) ? t(key) : topic;
}

export function kindText(kind: string): string {
  return t(`told.kind.${kind}` as "told.kind.email");
}

/** Path of the current tenant's channels. */
export function channelsPath(): string {
  return channelsPathOf(session.value?.tenant.id ?? "");
}

/**
 * `onEnd` receives the created channel, or null if none was created. Only the creation response contains the secret.
 */
export function ChannelForm(props: {
  readonly channel: Channel | null;
  readonly kinds: readonly string[];
  /** Endpoint that a new channel is for. Null for all endpoints. */
  readonly about?: string | null;
  readonly onEnd: (created: Channel | null) => void;
}) {
  const { channel, kinds, about = null, onEnd } = props;
  const draft = useChannelDraft(channel, kinds, about);
  const save = async () => {
    const id = channel?.id ?? null;
    const input = draftInput(draft, channel);
    const created = await replaceChannel(channelsPath(), { id, input });
    announce(t("saved"));
    onEnd(created[0] ?? null);
  };
  const cancel = (
    <button type="button" onClick={() => onEnd(null)}>
      {t("cancel")}
    </button>
  );
  return (
    <Form label={t("save")} tools={cancel} takesFocus send={save}>
      {channel === null && (
        <SelectField
          label={t("told.kind")}
          value={draft.kind}
          options={kinds.map((kind) => [kind, kindText(kind)])}
        />
      )}
      <Target draft={draft} isNew={channel === null} />
      <fieldset class="events">
        <legend>{t("told.topics")}</legend>
        <CheckBoxes value={draft.topics} options={topics.map((topic) => [topic, topicText(topic)])} />
      </fieldset>
      <Scope isForAll={draft.isForAll} webhookIds={draft.webhookIds} />
      <SelectField
        label={t("told.frequency")}
        value={draft.frequency}
        options={frequencies.map((name) => [name, t(`told.frequency.${name}`)])}
      />
      <SelectField
        label={t("told.zone")}
        value={draft.timeZone}
        options={[...new Set([draft.timeZone.value, "UTC", ...Intl.supportedValuesOf("timeZone")])].map(
          (zone) => [zone, zone],
        )}
      />
      <fieldset class="events">
        <legend>{t("told.quiet")}</legend>
        <CheckBox
          label={t("told.quiet.on")}
          isChecked={draft.isQuiet.value}
          onChange={(isChecked) => (draft.isQuiet.value = isChecked)}
        />
        {draft.isQuiet.value && (
          <div class="actions">
            <TextField label={t("told.quiet.from")} value={draft.quietFrom} type="time" required />
            <TextField label={t("told.quiet.until")} value={draft.quietUntil} type="time" required />
          </div>
        )}
      </fieldset>
      <SelectField label={t("told.language")} value={draft.language} options={languages} />
      <TextField label={t("told.name")} value={draft.name} maxLength={100} />
    </Form>
  );
}

function Target({ draft, isNew }: { readonly draft: ChannelDraft; readonly isNew: boolean }) {
  const field = targetField(draft.kind.value);
  const isKept = !isNew && field !== "address";
  return (
    <TextField
      label={t(`told.${field}`)}
      value={draft.target}
      note={isKept ? t("told.kept") : t(`told.${field}.hint`)}
      inputMode={field === "address" ? "email" : "url"}
      autocomplete="off"
      spellcheck={false}
      required={!isKept}
    />
  );
}

/** Selects all endpoints, including future ones, or individual endpoints. */
function Scope(props: {
  readonly isForAll: Signal<boolean>;
  readonly webhookIds: Signal<readonly string[]>;
}) {
  const { isForAll, webhookIds } = props;
  const webhooks = useEndpoints();
  return (
    <fieldset class="events">
      <legend>{t("told.about")}</legend>
      <CheckBox
        label={t("told.about.all")}
        isChecked={isForAll.value}
        onChange={(isChecked) => (isForAll.value = isChecked)}
      />
      {!isForAll.value && (
        <CheckBoxes
          value={webhookIds}
          options={webhooks.map(({ id, url }) => [
            id,
            <span key={id} class="card-url">
              {url}
            </span>,
          ])}
        />
      )}
    </fieldset>
  );
}

/** Defaults of a new channel, with the user's time zone and language. */
function newChannel(kind: string, about: string | null) {
  return {
    kind,
    address: "",
    name: "",
    topics: ["first_problem", "failing", "disabled"],
    webhook_ids: about === null ? null : [about],
    frequency: "immediate",
    time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    quiet_hours: null,
    language: spoken() === "de" ? "de" : "en",
  };
}

/** Form state of a channel. Typed values survive refreshes. */
function useChannelDraft(channel: Channel | null, kinds: readonly string[], about: string | null) {
  const first = channel ?? newChannel(kinds[0] ?? "webhook", about);
  const hours = first.quiet_hours;
  return {
    kind: useSignal(first.kind),
    /** Email address, URL or key. Stored URLs and keys are never shown; if empty, the stored value is kept. */
    target: useSignal(first.kind === "email" ? first.address : ""),
    name: useSignal(first.name),
    topics: useSignal<readonly string[]>(first.topics),
    isForAll: useSignal(first.webhook_ids === null),
    webhookIds: useSignal<readonly string[]>(first.webhook_ids ?? []),
    frequency: useSignal(first.frequency),
    timeZone: useSignal(first.time_zone),
    isQuiet: useSignal(hours !== null),
    quietFrom: useSignal(hours?.from ?? "22:00"),
    quietUntil: useSignal(hours?.until ?? "07:00"),
    language: useSignal(first.language),
  };
}

type ChannelDraft = ReturnType<typeof useChannelDraft>;

/** API field that holds the target, by kind. */
function targetField(kind: string): "address" | "url" | "integration_key" {
  if (kind === "email") return "address";
  return kind === "pagerduty" ? "integration_key" : "url";
}

function draftInput(draft: ChannelDraft, channel: Channel | null): object {
  const target = draft.target.value.trim();
  return {
    id: channel?.id,
    kind: draft.kind.value,
    [targetField(draft.kind.value)]: target === "" ? undefined : target,
    name: draft.name.value,
    topics: draft.topics.value,
    frequency: draft.frequency.value,
    webhook_ids: draft.isForAll.value ? null : draft.webhookIds.value,
    time_zone: draft.timeZone.value,
    quiet_hours: draft.isQuiet.value ? { from: draft.quietFrom.value, until: draft.quietUntil.value } : null,
    language: draft.language.value,
    enabled: channel?.enabled ?? true,
  };
}
