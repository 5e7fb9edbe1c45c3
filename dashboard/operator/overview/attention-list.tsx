import type { Delivery } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { When } from "../../shared/ui/when.tsx";
import { answerText, waitingOf } from "../delivery/wording.ts";
import { headlineOf } from "../problems/open-problems.tsx";
import { healthWords, statusReasonText, WebhookLink } from "../webhook/webhook-link.tsx";
import type { Trouble } from "./troubles.ts";

const shownMax = 8;
const problemsMax = 3;

export function AttentionList(props: {
  readonly troubles: readonly Trouble[];
  /** Whether the underlying lists are complete. If not, counts per webhook would be too low and are omitted. */
  readonly isWhole: boolean;
}) {
  const { troubles, isWhole } = props;
  if (troubles.length === 0) {
    return <p class="soft">No disabled webhooks, no retrying deliveries, no dead letters.</p>;
  }
  return (
    <ul class="entry-list">
      {troubles.slice(0, shownMax).map((trouble) => (
        <TroubleItem key={trouble.webhookId} trouble={trouble} isWhole={isWhole} />
      ))}
      {troubles.length > shownMax && (
        <li>
          <a href={pagePath("webhooks")}>{troubles.length - shownMax} more</a>
        </li>
      )}
    </ul>
  );
}

function TroubleItem({ trouble, isWhole }: { readonly trouble: Trouble; readonly isWhole: boolean }) {
  const { webhookId, url, waiting, deadCount, inactive, problems } = trouble;
  const next = waiting[0];
  return (
    <li>
      <div class="entry-head">
        <Badge {...badgeOf(trouble)} />
        <WebhookLink id={webhookId} url={url} />
      </div>
      {problems.slice(0, problemsMax).map((problem) => (
        <p key={problem.id} class="trouble-problem">
          <a href={pagePath(`problems/${problem.id}`)}>{headlineOf(problem)}</a>{" "}
          <span class="soft">{problem.remedy}</span>
        </p>
      ))}
      <p>
        {inactive !== null && (
          <>
            The webhook is {inactive.status}: {statusReasonText(inactive.status_reason)}.{" "}
          </>
        )}
        {next !== undefined && <NextSentence count={isWhole ? waiting.length : null} next={next} />}
        {deadCount > 0 && (
          <>{isWhole ? `${deadCount} dead ${deadCount === 1 ? "letter" : "letters"}` : "Dead letters"}. </>
        )}
      </p>
      <p class="trouble-links">
        {next !== undefined && <a href={pagePath(`deliveries/${next.id}`)}>Why?</a>}
        {waiting.length > 0 && (
          <a href={`${pagePath("deliveries")}?webhook_id=${webhookId}&status=failed&status=circuit_blocked`}>
            Waiting deliveries
          </a>
        )}
        {deadCount > 0 && <a href={`${pagePath("dead-letters")}?webhook_id=${webhookId}`}>Dead letters</a>}
      </p>
    </li>
  );
}

/** Health of the webhook. A healthy webhook may still have dead letters or waiting deliveries. */
function badgeOf({ health, waiting, deadCount }: Trouble): Parameters<typeof Badge>[0] {
  if (health !== null && health !== "healthy") return healthWords[health];
  if (deadCount > 0) return { tone: "bad", text: deadCount === 1 ? "Dead letter" : "Dead letters" };
  return waiting.length > 0 ? { tone: "wait", text: "Retrying" } : { tone: "wait", text: "Open problem" };
}

function NextSentence({ count, next }: { readonly count: number | null; readonly next: Delivery }) {
  const answer = answerText({ status_code: next.last_http_status_code, category: next.failure_category });
  return (
    <>
      {count === null ? "Deliveries waiting" : `${count} ${count === 1 ? "delivery" : "deliveries"} waiting`}.
      The last response was <strong>{answer}</strong>.{" "}
      {next.waiting_for !== null && (
        <>
          Waiting for: {waitingOf(next.waiting_for).short}
          {next.waiting_until !== null && (
            <>
              , <When at={next.waiting_until} />
            </>
          )}
          .{" "}
        </>
      )}
    </>
  );
}
