import type { DeliveryDetail } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { duration, shortSpan } from "../../shared/format.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { When } from "../../shared/ui/when.tsx";
import { answerText, waitingOf } from "./wording.ts";

type Attempt = DeliveryDetail["attempts"][number];
type Wait = DeliveryDetail["waits"][number];
type Retry = DeliveryDetail["retries"][number];

type Step =
  | { readonly kind: "attempt"; readonly at: number; readonly attempt: Attempt; readonly index: number }
  | { readonly kind: "wait"; readonly at: number; readonly wait: Wait }
  | { readonly kind: "retry"; readonly at: number; readonly retry: Retry };

const tones: Readonly<Record<Attempt["outcome"], Tone>> = {
  accepted: "good",
  transient: "wait",
  terminal: "bad",
};

/** Attempts, waits at gates, manual retries, and the next attempt, in order. */
export function Timeline(props: {
  readonly delivery: DeliveryDetail;
  readonly chosen: number;
  readonly choose: (index: number) => void;
}) {
  const { delivery, chosen, choose } = props;
  const steps: readonly Step[] = [
    ...delivery.attempts.map((attempt, index) => ({
      kind: "attempt" as const,
      at: Date.parse(attempt.executed_at),
      attempt,
      index,
    })),
    ...delivery.waits.map((wait) => ({ kind: "wait" as const, at: Date.parse(wait.from), wait })),
    ...delivery.retries.map((retry) => ({ kind: "retry" as const, at: Date.parse(retry.at), retry })),
  ].toSorted((left, right) => left.at - right.at);
  return (
    <ol class="timeline">
      <li>
        <span class="soft">created</span> <When at={delivery.created_at} isExact />
      </li>
      {steps.map((step) => (
        <StepView key={`${step.kind}${step.at}`} step={step} chosen={chosen} choose={choose} />
      ))}
      {delivery.next_attempt_at !== null && (
        <li class="timeline-due">
          <span class="soft">due</span> <When at={delivery.next_attempt_at} />
        </li>
      )}
    </ol>
  );
}

function StepView(props: {
  readonly step: Step;
  readonly chosen: number;
  readonly choose: (index: number) => void;
}) {
  const { step, chosen, choose } = props;
  if (step.kind === "wait")
    return (
      <li class="timeline-wait">
        held {shortSpan(Date.parse(step.wait.until) - step.at)}: {waitingOf(step.wait.reason).short}
      </li>
    );
  if (step.kind === "retry")
    return (
      <li>
        <span class="soft">
          retried <RetriedBy retry={step.retry} />
        </span>{" "}
        <When at={step.retry.at} isExact />
      </li>
    );
  return (
    <li>
      <button
        type="button"
        class="attempt-button"
        aria-pressed={step.index === chosen}
        onClick={() => choose(step.index)}
      >
        <Badge tone={tones[step.attempt.outcome]} text={answerOf(step.attempt)} />
        <span class="soft">
          {duration(step.attempt.duration_ms)}, <When at={step.attempt.executed_at} />
        </span>
      </button>
    </li>
  );
}

/** Operation or actor behind a retry. Empty for retries through the library. */
function RetriedBy({ retry: { by, operation_id } }: { readonly retry: Retry }) {
  if (operation_id !== null)
    return (
      <>
        by an <a href={pagePath(`operations/${operation_id}`)}>operation</a>
      </>
    );
  return by === null ? null : <>by {by.name ?? authors[by.kind]}</>;
}

const authors: Readonly<Record<NonNullable<Retry["by"]>["kind"], string>> = {
  api_key: "an API key",
  dashboard_session: "an operator",
  portal_session: "the customer",
};

function answerOf(attempt: Attempt): string {
  return answerText({ status_code: attempt.http_status_code, category: attempt.failure_category });
}
