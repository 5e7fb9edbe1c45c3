/** Notification channels in the form of the API. */
import type { Tone } from "../ui/tone.ts";

export interface QuietHours {
  readonly from: string;
  readonly until: string;
}

/** Settings that can be changed after creation. */
export interface ChannelSettings {
  readonly name: string;
  readonly topics: readonly string[];
  /** Null for all endpoints. */
  readonly webhook_ids: readonly string[] | null;
  readonly frequency: string;
  readonly time_zone: string;
  readonly quiet_hours: QuietHours | null;
  readonly language: string;
  readonly enabled: boolean;
}

export interface Channel extends ChannelSettings {
  readonly id: string;
  readonly kind: string;
  readonly address: string;
  readonly secret: string | null;
  readonly last_sent_at: string | null;
  readonly last_error_at: string | null;
  /** Null for customers. */
  readonly last_error: string | null;
  readonly state: "on" | "off" | "refused" | "unsubscribed" | "unconfirmed" | "limited";
  readonly limited_until: string | null;
}

export interface ChannelSet {
  readonly data: readonly Channel[];
  readonly kinds: readonly string[];
}

/** Display tone of each channel state. */
export const channelTones = {
  off: "off",
  refused: "bad",
  unsubscribed: "off",
  unconfirmed: "new",
  limited: "wait",
  failing: "bad",
  new: "new",
  ok: "good",
} as const satisfies Record<string, Tone>;

export function channelState(channel: Channel): keyof typeof channelTones {
  const { state, last_error_at: failed } = channel;
  if (state !== "on") return state;
  if (failed !== null && failed > (channel.last_sent_at ?? "")) return "failing";
  return channel.last_sent_at === null ? "new" : "ok";
}

/** Input that keeps the channel unchanged when the set is saved. */
export function keptInput(channel: Channel): object {
  const {
    id,
    kind,
    address,
    name,
    topics: told,
    webhook_ids,
    frequency,
    time_zone,
    quiet_hours,
    language,
    enabled,
  } = channel;
  return {
    id,
    kind,
    name,
    topics: told,
    webhook_ids,
    frequency,
    time_zone,
    quiet_hours,
    language,
    enabled,
    ...(kind === "email" && { address }),
  };
}
