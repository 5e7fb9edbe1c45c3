import { PosthornError } from "../core/errors.ts";
import type { Connection } from "../core/gateway/source.ts";
import type { EngineAccess } from "../engine/engine-access.ts";
import type { ForwardNote } from "../ports/store/gateway.ts";
import type { StoredEvent } from "../ports/store/history.ts";
import { replaysOf, requireAccepted } from "../services/deliveries/redelivery.ts";

/** Creates new deliveries of a received event, with the key and ID of its sender. */
export async function requeueFor(
  event: StoredEvent,
  connections: readonly Connection[],
  /** Original deliveries of the event by webhook, which the new ones copy. */ originals: ReadonlyMap<
    string,
    string
  >,
  access: Pick<EngineAccess, "gateway" | "nextId" | "placeOf" | "requeue" | "webhook">,
  now: number,
): Promise<readonly ForwardNote[]> {
  await access.gateway.known(connections.map(({ webhookId }) => webhookId));
  const targets = connections.flatMap((connection) => {
    const webhook = access.webhook(connection.webhookId)?.webhook;
    return webhook?.status === "active" ? [{ connection, webhook }] : [];
  });
  if (targets.length === 0) throw new PosthornError("conflict", "no connection leads to an active webhook");
  const webhooks = targets.map(({ webhook }) => webhook);
  const deliveries = replaysOf(access, event, webhooks, originals, now);
  requireAccepted(await access.requeue({ eventId: event.id, deliveries }));
  return targets.map(({ connection: { id, webhookId } }) => ({
    connectionId: id,
    webhookId,
    result: "stored",
    detail: "replayed",
  }));
}
