import { bucketAt } from "../../core/statistics/buckets.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HistoryStore } from "../../ports/store/history.ts";
import type { LiveWebhook } from "../../engine/endpoint/live-webhook.ts";
import type { StatisticsService, WebhookBacklogView } from "../services.ts";

/** Counted no further: beyond it the number changes nothing of what somebody would do. */
const countMax = 10_000;
/** How far back the pace of a webhook is looked for. */
const paceSpanMs = 300_000;

interface BacklogSources {
  readonly history: HistoryStore;
  readonly statistics: Pick<StatisticsService, "acceptedSince">;
  readonly clock: Clock;
}

/** What waits of a webhook, and how long that takes at the pace of the last five minutes if nothing more comes. */
export async function webhookBacklog(
  { webhook }: LiveWebhook,
  { history, statistics, clock }: BacklogSources,
): Promise<WebhookBacklogView> {
  const { id: webhookId } = webhook;
  const now = clock.now();
  const backlog = await history.backlog({ webhookId, countMax });
  const since = bucketAt(now - paceSpanMs, "minute");
  const counted = await statistics.acceptedSince({ webhookId, since });
  const accepted = counted ?? (await history.attemptStats({ webhookId, since })).accepted;
  const { high, normal, low } = backlog.waiting;
  const total = high + normal + low;
  const perSecond = (accepted * 1_000) / (now - since);
  return {
    webhookId,
    ...backlog,
    total,
    perSecond,
    drainMs: drainMsOf({ total, perSecond: backlog.isMore ? 0 : perSecond }),
  };
}

/** Null where nobody can tell. */
function drainMsOf({
  total,
  perSecond,
}: {
  readonly total: number;
  readonly perSecond: number;
}): number | null {
  if (total === 0) return 0;
  return perSecond === 0 ? null : Math.ceil((total / perSecond) * 1_000);
}
