import { callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import { session } from "../session.ts";
import { type Channel, type ChannelSet, keptInput } from "./channel.ts";

/** Of the tenant whose session this is. */
export function channelsPath(): string {
  return `v1/tenants/${encodeURIComponent(session.value?.tenant.id ?? "")}/notifications`;
}

/** Channels are saved as a set, so the newest one is asked for first: somebody else may have changed another one. */
async function changeChannels(
  change: (kept: readonly Channel[]) => readonly object[],
): Promise<readonly Channel[]> {
  const path = channelsPath();
  const { value: before } = await callApi<ChannelSet>({ path });
  const body = { channels: change(before.data) };
  const { value } = await callApi<ChannelSet>({ method: "PUT", path, body });
  await refreshAll();
  const known = new Set(before.data.map(({ id }) => id));
  return value.data.filter(({ id }) => !known.has(id));
}

export function replaceChannel(id: string | null, input: object): Promise<readonly Channel[]> {
  return changeChannels((kept) =>
    id === null
      ? [...kept.map(keptInput), input]
      : kept.map((channel) => (channel.id === id ? input : keptInput(channel))),
  );
}

export async function removeChannel(id: string): Promise<void> {
  await changeChannels((kept) => kept.filter((channel) => channel.id !== id).map(keptInput));
}
