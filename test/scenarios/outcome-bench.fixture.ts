/** One delivery to one endpoint that reacts in a given way, and how the engine classifies the reaction. */
import type { AttemptRecord } from "../../src/domain/delivery.ts";
import type { Profile, SignatureSchemeName } from "../../src/domain/profile.ts";
import type { Webhook, WebhookStatus } from "../../src/domain/webhook.ts";
import type { StoredDelivery } from "../../src/ports/store/history.ts";
import { type EngineWorld, openEngineWorld } from "./engine-world.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { listDeliveries } from "../listed-deliveries.ts";

/** Data that is read immediately after the first attempt was settled. */
export interface Observed {
  readonly attempt: AttemptRecord;
  readonly delivery: StoredDelivery;
  readonly webhookStatus: WebhookStatus;
  readonly pausedUntil: number | null;
}

export interface OutcomeBench {
  readonly world: EngineWorld;
  /** Creates a separate webhook, publishes to it, and waits for the first attempt. */
  observe(profile: Profile, target: Target): Promise<Observed>;
  /** Waits until the condition holds for the webhook's only delivery. */
  delivery(webhook: Webhook, holds: (delivery: StoredDelivery) => boolean): Promise<StoredDelivery>;
  addWebhook(profile: Profile, target: Target): Promise<Webhook>;
  close(): Promise<void>;
}

export interface Target {
  readonly url: string;
  readonly timeoutMs?: number;
  /** By default, the first retry is due after an hour. */
  readonly delaysMs?: readonly number[];
}

export const hourMs = 3_600_000;
/** With jitter, the expected delay would be less precise. */
const exactly = { from: 1, to: 1 };

export async function openOutcomeBench(): Promise<OutcomeBench> {
  const world = await openEngineWorld();
  let webhooks = 0;

  const addWebhook: OutcomeBench["addWebhook"] = (profile, { url, timeoutMs, delaysMs = [hourMs] }) =>
    world.addWebhook({
      url,
      events: [`case.n${++webhooks}`],
      profile: profile.name,
      schemes: schemesOf(profile, webhooks),
      retry: {
        schedule: { kind: "list", delaysMs, jitter: exactly },
        ageMsMax: null,
        timeoutMs: timeoutMs ?? null,
        timeoutGrowthFactor: null,
      },
    });

  const delivery: OutcomeBench["delivery"] = async (webhook, holds) => {
    const ask = (): Promise<StoredDelivery | undefined> => newestDelivery(world, webhook.id);
    const found = await eventually(`a delivery of ${webhook.url}`, {
      ask,
      holds: (seen) => seen !== undefined && holds(seen),
    });
    if (found === undefined) throw new Error("unreachable: a delivery was found");
    return found;
  };

  const observe: OutcomeBench["observe"] = async (profile, target) => {
    const webhook = await addWebhook(profile, target);
    await world.publish("default", { eventType: webhook.events[0] ?? "", data: { n: webhooks } });
    const settled = await delivery(webhook, ({ progress }) => progress.attemptCount > 0);
    const [attempt] = await world.store.history.listAttempts(settled.id);
    if (attempt === undefined) throw new Error(`no attempt is stored of ${settled.id}`);
    const view = [...world.engine.webhooks()].find((one) => one.webhook.id === webhook.id);
    return {
      attempt,
      delivery: settled,
      webhookStatus: view?.webhook.status ?? "disabled",
      pausedUntil: view?.pausedUntil ?? null,
    };
  };

  return { world, addWebhook, delivery, observe, close: () => world.close() };
}

/** Selects the profile's schemes in turn. */
function schemesOf({ signatureSchemesAllowed: allowed }: Profile, turn: number): SignatureSchemeName[] {
  const scheme = allowed[turn % allowed.length];
  return scheme === undefined ? [] : [scheme];
}

async function newestDelivery(world: EngineWorld, webhookId: string): Promise<StoredDelivery | undefined> {
  const page = await listDeliveries(world.store.history, { webhookIds: [webhookId] }, { limit: 1 });
  return page.rows[0];
}
