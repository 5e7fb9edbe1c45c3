import { callApi } from "../api.ts";
import { refreshAll } from "../queries.ts";
import { type Channel, type ChannelSet, keptInput } from "./channel.ts";

export function channelsPathOf(tenantId: string): string {
  return `v1/tenants/${encodeURIComponent(tenantId)}/notifications`;
}

/** Channels are saved as a set, so read the current set first: another user may have changed it. */
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

/** Creates a channel if `id` is null. Returns created channels, the only ones with their secret. */
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
