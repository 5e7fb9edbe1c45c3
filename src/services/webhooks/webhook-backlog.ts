import { bucketAt } from "../../core/statistics/buckets.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HistoryStore } from "../../ports/store/history.ts";
import type { LiveWebhook } from "../../engine/endpoint/live-webhook.ts";
import type { StatisticsService, WebhookBacklogView } from "../services.ts";

/** Counting stops here: a higher number makes no practical difference. */
const countMax = 10_000;
/** Period over which the rate of a webhook is measured. */
const paceSpanMs = 300_000;

/** The backlog of a webhook, and the time to drain it at the rate of the last five minutes if nothing more arrives. */
export async function webhookBacklog(
  { webhook }: LiveWebhook,
  history: HistoryStore,
  statistics: Pick<StatisticsService, "acceptedSince">,
  clock: Clock,
): Promise<WebhookBacklogView> {
  const { id: webhookId } = webhook;
  const now = clock.now();
  const backlog = await history.backlog(webhookId, countMax);
  const since = bucketAt(now - paceSpanMs, "minute");
  const counted = await statistics.acceptedSince(webhookId, since);
  const accepted = counted ?? (await history.attemptStats(webhookId, since)).accepted;
  const { high, normal, low } = backlog.waiting;
  const total = high + normal + low;
  const perSecond = (accepted * 1_000) / (now - since);
  return {
    webhookId,
    ...backlog,
    total,
    perSecond,
    drainMs: drainMsOf(total, backlog.isMore ? 0 : perSecond),
  };
}

/** Null if unknown. */
function drainMsOf(total: number, perSecond: number): number | null {
  if (total === 0) return 0;
  return perSecond === 0 ? null : Math.ceil((total / perSecond) * 1_000);
}
