/** Topics and frequencies of channels, and the state of the channel form. */
import type { Signal } from "@preact/signals";
import { useSignal } from "@preact/signals";
import type { Channel, ChannelSettings, QuietHours } from "../../shared/notifications/channel.ts";
import { known, spoken, t } from "../language.ts";

export const topics = [
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
export const frequencies = ["immediate", "hourly", "daily"] as const;

export function topicText(topic: string): string {
  const key = `told.topic.${topic}`;
  return known(key) ? t(key) : topic;
}

/** Form state of a channel. Typed values survive refreshes. */
export interface ChannelDraft {
  /** Null for a new channel. */
  readonly id: string | null;
  readonly kind: Signal<string>;
  /** Email address, URL or key. Stored URLs and keys are never shown; if empty, the stored value is kept. */
  readonly target: Signal<string>;
  readonly name: Signal<string>;
  readonly topics: Signal<readonly string[]>;
  readonly webhookIds: Signal<readonly string[] | null>;
  readonly frequency: Signal<string>;
  readonly timeZone: Signal<string>;
  readonly quietHours: Signal<QuietHours | null>;
  readonly language: Signal<string>;
}

/** `about` is the endpoint of a new channel. Null for all endpoints. */
export function useChannelDraft(
  channel: Channel | null,
  { kinds, about }: { readonly kinds: readonly string[]; readonly about: string | null },
): ChannelDraft {
  const first = channel ?? {
    ...blankChannel(kinds[0] ?? "webhook"),
    webhook_ids: about === null ? null : [about],
  };
  return {
    id: channel?.id ?? null,
    kind: useSignal(first.kind),
    target: useSignal(first.kind === "email" ? first.address : ""),
    name: useSignal(first.name),
    topics: useSignal(first.topics),
    webhookIds: useSignal(first.webhook_ids),
    frequency: useSignal(first.frequency),
    timeZone: useSignal(first.time_zone),
    quietHours: useSignal(first.quiet_hours),
    language: useSignal(first.language),
  };
}

/** Defaults of a new channel, with the user's time zone and language. */
function blankChannel(
  kind: string,
): Omit<ChannelSettings, "webhook_ids"> & Pick<Channel, "kind" | "address"> {
  return {
    kind,
    address: "",
    name: "",
    enabled: true,
    topics: ["first_problem", "failing", "disabled"],
    frequency: "immediate",
    quiet_hours: null,
    time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    language: spoken() === "de" ? "de" : "en",
  };
}

/** API field that holds the target, by kind. */
export function targetField(kind: string): "address" | "url" | "integration_key" {
  if (kind === "email") return "address";
  return kind === "pagerduty" ? "integration_key" : "url";
}

export function draftInput(draft: ChannelDraft, isEnabled: boolean): object {
  const target = draft.target.value.trim();
  return {
    ...(draft.id !== null && { id: draft.id }),
    kind: draft.kind.value,
    ...(target !== "" && { [targetField(draft.kind.value)]: target }),
    name: draft.name.value,
    topics: draft.topics.value,
    frequency: draft.frequency.value,
    webhook_ids: draft.webhookIds.value,
    time_zone: draft.timeZone.value,
    quiet_hours: draft.quietHours.value,
    language: draft.language.value,
    enabled: isEnabled,
  };
}
