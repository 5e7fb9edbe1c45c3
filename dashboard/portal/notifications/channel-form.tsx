import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { replaceChannel } from "../../shared/notifications/channel-calls.ts";
import type { Channel } from "../../shared/notifications/channel.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { useSubmit } from "../endpoint/endpoint-fields.tsx";
import { ErrorText } from "../error-text.tsx";
import { languages, t } from "../language.ts";
import { useEndpoints } from "../endpoint/use-endpoints.ts";
import { channelsPath } from "./channel-calls.ts";
import {
  type ChannelDraft,
  draftInput,
  frequencies,
  targetField,
  topics,
  topicText,
  useChannelDraft,
} from "./channel.ts";

/** `onEnd` receives the created channel, the only one with its secret, or null. */
export function ChannelForm(props: {
  readonly channel: Channel | null;
  readonly kinds: readonly string[];
  /** Endpoint of a new channel. Null for all endpoints. */
  readonly about?: string | null;
  readonly onEnd: (made: Channel | null) => void;
}) {
  const { channel, kinds, about = null, onEnd } = props;
  const draft = useChannelDraft(channel, { kinds, about });
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>("select, input")?.focus(), []);
  const { error, onSubmit } = useSubmit(async () => {
    const made = await replaceChannel(channelsPath(), {
      id: draft.id,
      input: draftInput(draft, channel?.enabled ?? true),
    });
    announce(t("saved"));
    onEnd(channel === null ? (made[0] ?? null) : null);
  });
  return (
    <form class="form" ref={form} onSubmit={onSubmit}>
      {channel === null && (
        <Choice label={t("told.kind")} value={draft.kind}>
          {kinds.map((kind) => (
            <option key={kind} value={kind}>
              {t(`told.kind.${kind}` as "told.kind.email")}
            </option>
          ))}
        </Choice>
      )}
      <Target draft={draft} />
      <Topics value={draft.topics} />
      <About value={draft.webhookIds} />
      <Choice label={t("told.frequency")} value={draft.frequency}>
        {frequencies.map((name) => (
          <option key={name} value={name}>
            {t(`told.frequency.${name}`)}
          </option>
        ))}
      </Choice>
      <QuietHoursFields draft={draft} />
      <Choice label={t("told.language")} value={draft.language}>
        {languages.map(([tag, name]) => (
          <option key={tag} value={tag} lang={tag}>
            {name}
          </option>
        ))}
      </Choice>
      <Text label={t("told.name")} value={draft.name} lengthMax={100} />
      {error !== null && <ErrorText error={error} />}
      <p class="actions">
        <button type="submit" class="primary">
          {t("save")}
        </button>
        <button type="button" onClick={() => onEnd(null)}>
          {t("cancel")}
        </button>
      </p>
    </form>
  );
}

function Target({ draft }: { readonly draft: ChannelDraft }) {
  const field = targetField(draft.kind.value);
  const id = useId();
  const isKept = draft.id !== null && field !== "address";
  return (
    <p class="field">
      <label for={id}>{t(`told.${field}`)}</label>
      <input
        id={id}
        inputMode={field === "address" ? "email" : "url"}
        autocomplete="off"
        spellcheck={false}
        required={!isKept}
        value={draft.target.value}
        aria-describedby={`${id}-note`}
        onInput={({ currentTarget }) => (draft.target.value = currentTarget.value)}
      />
      <span id={`${id}-note`} class="soft">
        {isKept ? t("told.kept") : t(`told.${field}.hint`)}
      </span>
    </p>
  );
}

function Topics({ value }: { readonly value: Signal<readonly string[]> }) {
  return (
    <fieldset class="events">
      <legend>{t("told.topics")}</legend>
      {topics.map((topic) => (
        <label key={topic}>
          <input
            type="checkbox"
            checked={value.value.includes(topic)}
            onChange={({ currentTarget }) => {
              const others = value.value.filter((one) => one !== topic);
              value.value = currentTarget.checked ? [...others, topic] : others;
            }}
          />
          {topicText(topic)}
        </label>
      ))}
    </fieldset>
  );
}

/** All endpoints, including future ones, or a selection. */
function About({ value }: { readonly value: Signal<readonly string[] | null> }) {
  const webhooks = useEndpoints();
  const chosen = value.value;
  return (
    <fieldset class="events">
      <legend>{t("told.about")}</legend>
      <label>
        <input
          type="checkbox"
          checked={chosen === null}
          onChange={({ currentTarget }) => (value.value = currentTarget.checked ? null : [])}
        />
        {t("told.about.all")}
      </label>
      {chosen !== null &&
        webhooks.map(({ id, url }) => (
          <label key={id}>
            <input
              type="checkbox"
              checked={chosen.includes(id)}
              onChange={({ currentTarget }) => {
                const others = chosen.filter((one) => one !== id);
                value.value = currentTarget.checked ? [...others, id] : others;
              }}
            />
            <span class="card-url">{url}</span>
          </label>
        ))}
    </fieldset>
  );
}

function QuietHoursFields({ draft: { quietHours, timeZone } }: { readonly draft: ChannelDraft }) {
  const hours = quietHours.value;
  const id = useId();
  const zones = [...new Set([timeZone.value, "UTC", ...Intl.supportedValuesOf("timeZone")])];
  return (
    <>
      <Choice label={t("told.zone")} value={timeZone}>
        {zones.map((zone) => (
          <option key={zone} value={zone}>
            {zone}
          </option>
        ))}
      </Choice>
      <fieldset class="events">
        <legend>{t("told.quiet")}</legend>
        <label>
          <input
            type="checkbox"
            checked={hours !== null}
            onChange={({ currentTarget }) =>
              (quietHours.value = currentTarget.checked ? { from: "22:00", until: "07:00" } : null)
            }
          />
          {t("told.quiet.on")}
        </label>
        {hours !== null && (
          <div class="actions">
            <label for={`${id}-from`}>{t("told.quiet.from")}</label>
            <input
              id={`${id}-from`}
              type="time"
              required
              value={hours.from}
              onInput={({ currentTarget }) => (quietHours.value = { ...hours, from: currentTarget.value })}
            />
            <label for={`${id}-until`}>{t("told.quiet.until")}</label>
            <input
              id={`${id}-until`}
              type="time"
              required
              value={hours.until}
              onInput={({ currentTarget }) => (quietHours.value = { ...hours, until: currentTarget.value })}
            />
          </div>
        )}
      </fieldset>
    </>
  );
}

function Choice(props: {
  readonly label: string;
  readonly value: Signal<string>;
  readonly children: ComponentChildren;
}) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{props.label}</label>
      <select
        id={id}
        value={props.value.value}
        onChange={({ currentTarget }) => (props.value.value = currentTarget.value)}
      >
        {props.children}
      </select>
    </p>
  );
}

function Text(props: { readonly label: string; readonly value: Signal<string>; readonly lengthMax: number }) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{props.label}</label>
      <input
        id={id}
        maxLength={props.lengthMax}
        value={props.value.value}
        onInput={({ currentTarget }) => (props.value.value = currentTarget.value)}
      />
    </p>
  );
}
