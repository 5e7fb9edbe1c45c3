import type { Clock } from "../../ports/clock.ts";
import type { HistoryStore } from "../../ports/store/history.ts";
import type { LiveWebhook } from "../../engine/endpoint/live-webhook.ts";
import type { WebhookBacklogView } from "../services.ts";

/** Counted no further: beyond it the number changes nothing of what somebody would do. */
const countMax = 10_000;
/** How far back the pace of a webhook is looked for. */
const paceSpanMs = 300_000;

/** What waits of a webhook, and how long that takes at the pace of the last five minutes if nothing more comes. */
export async function webhookBacklog(
  { webhook }: LiveWebhook,
  { history, clock }: { readonly history: HistoryStore; readonly clock: Clock },
): Promise<WebhookBacklogView> {
  const { id: webhookId } = webhook;
  const now = clock.now();
  const backlog = await history.backlog({ webhookId, countMax });
  const { accepted } = await history.attemptStats({ webhookId, since: now - paceSpanMs });
  const { high, normal, low } = backlog.waiting;
  const total = high + normal + low;
  const perSecond = (accepted * 1_000) / paceSpanMs;
  const drainMs =
    total === 0 ? 0 : perSecond === 0 || backlog.isMore ? null : Math.ceil((total / perSecond) * 1_000);
  return { webhookId, ...backlog, total, perSecond, drainMs };
}
