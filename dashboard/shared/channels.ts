/** Notification channels of a tenant in the form of the API. */
import { callApi } from "./api.ts";
import { refreshAll } from "./queries.ts";
import type { Channel } from "./resources.ts";
import type { Tone } from "./ui/tone.ts";

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

const inputNames = [
  "id",
  "kind",
  "name",
  "topics",
  "webhook_ids",
  "frequency",
  "time_zone",
  "quiet_hours",
  "language",
  "enabled",
] as const satisfies readonly (keyof Channel)[];

/** Fields to send for a channel that should stay unchanged when the set is saved. */
export function keptInput(channel: Channel): object {
  const names = channel.kind === "email" ? [...inputNames, "address" as const] : inputNames;
  return Object.fromEntries(names.map((name) => [name, channel[name]]));
}

export function channelsPathOf(tenantId: string): string {
  return `v1/tenants/${encodeURIComponent(tenantId)}/notifications`;
}

/** Channels are saved as a set, so this reads the current set first: another user may have changed it. */
async function changeChannels(
  path: string,
  change: (kept: readonly Channel[]) => readonly object[],
): Promise<readonly Channel[]> {
  const { value: before } = await callApi<ChannelSet>({ path });
  const body = { channels: change(before.data) };
  const { value } = await callApi<ChannelSet>({ method: "PUT", path, body });
  await refreshAll();
  const known = new Set(before.data.map(({ id }) => id));
  return value.data.filter(({ id }) => !known.has(id));
}

/** Creates a channel if `id` is null. Returns the created channels. Only this response contains their secrets. */
export function replaceChannel(
  path: string,
  { id, input }: { readonly id: string | null; readonly input: object },
): Promise<readonly Channel[]> {
  return changeChannels(path, (kept) =>
    id === null
      ? [...kept.map(keptInput), input]
      : kept.map((channel) => (channel.id === id ? input : keptInput(channel))),
  );
}

export async function removeChannel(path: string, { id }: Pick<Channel, "id">): Promise<void> {
  await changeChannels(path, (kept) => kept.filter((channel) => channel.id !== id).map(keptInput));
}
