import type { ApiClient, Json } from "../api-client.ts";
import { UsageError } from "../failures.ts";
import type { Terminal } from "../terminal.ts";

const countMax = 100;

/** Replays the last events of the given types to one webhook, oldest first. */
export async function replayLast(order: {
  readonly types: readonly string[];
  readonly count: number;
  readonly webhookId: string;
  readonly client: ApiClient;
  readonly terminal: Terminal;
}): Promise<void> {
  const { types, count, webhookId, client, terminal } = order;
  if (count === 0) return;
  if (!Number.isInteger(count) || count < 0 || count > countMax)
    throw new UsageError(`--replay takes 0 to ${countMax}, not ${count}`);
  const query = { limit: count, ...(types.includes("*") ? {} : { event_type: types }) };
  const events = (await client.get("/v1/events", { query }))["data"] as readonly Json[];
  for (const { id } of events.toReversed())
    await client.post(`/v1/events/${String(id)}/replay`, { body: { webhook_ids: [webhookId] } });
  terminal.note(events.length === 0 ? "no events to replay" : `replaying the last ${events.length} events`);
}
