import { PosthornError } from "../../core/errors.ts";
import { testFields } from "../../core/fields/actions.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Store } from "../../ports/store.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { LiveWebhook } from "../../engine/endpoint/live-webhook.ts";
import { ProblemList } from "../problem-list.ts";
import { readFields } from "../read-fields.ts";

/** The default type of test events. */
const testEventType = "posthorn.test";

/** Sends one event through the whole path to one webhook, with the given data or the first example of its type. */
export async function sendTestEvent(
  live: LiveWebhook,
  how: {
    readonly access: Pick<EngineAccess, "publishSystemEvent">;
    readonly store: Pick<Store, "registry">;
    readonly clock: Clock;
    readonly eventType: string | null | undefined;
    readonly data: Readonly<Record<string, unknown>> | null | undefined;
  },
): Promise<{ readonly eventId: string; readonly deliveryId: string }> {
  const { webhook } = live;
  const problems = new ProblemList();
  readFields(testFields, how, problems);
  problems.throwIfAny("the test");
  const eventType = how.eventType ?? testEventType;
  if (webhook.status !== "active") {
    const remedy = webhook.status === "unverified" ? "its receiver must permit it first" : "enable it first";
    throw new PosthornError(
      "conflict",
      `the webhook is not active, so it would not receive the test; ${remedy}`,
    );
  }
  const registered = await how.store.registry.eventType({ tenantId: webhook.tenantId, name: eventType });
  const example = registered?.examples[0];
  const fallback = { test: true, webhook_id: webhook.id, sent_at: new Date(how.clock.now()).toISOString() };
  const data = (how.data ?? example ?? fallback) as Readonly<Record<string, unknown>>;
  const sent = await how.access.publishSystemEvent({
    tenantId: webhook.tenantId,
    eventType,
    data,
    onlyWebhookId: webhook.id,
  });
  const deliveryId = sent.deliveryIds[0];
  if (deliveryId === undefined)
    throw new PosthornError("conflict", "the webhook was deleted during the test");
  return { eventId: sent.eventId, deliveryId };
}
