import { useSignal } from "@preact/signals";
import type { DeliveryDetail } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { When } from "../../shared/ui/when.tsx";
import { AttemptComparison } from "./attempt-comparison.tsx";
import { AttemptView } from "./attempt-view.tsx";
import { DeliveryActions } from "./delivery-actions.tsx";
import { DeliveryGates } from "./delivery-gates.tsx";
import { RequestOfAttempt } from "./rendered-request.tsx";
import { StatusBadge } from "./status-badge.tsx";
import { Timeline } from "./timeline.tsx";
import { endingOf, waitingOf } from "./wording.ts";

/** State of a delivery, the reason, and the available actions. */
export function Verdict({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { status, waiting_for, waiting_until, replay_of, replayed_by } = delivery;
  const waiting = waiting_for === null ? null : waitingOf(waiting_for);
  return (
    <section class="verdict" aria-label="State and reason">
      <StatusBadge status={status} />
      <div>
        <p class="verdict-text">
          {waiting?.sentence ?? endingOf(delivery)}
          {waiting !== null && waiting_until !== null && (
            <>
              {" "}
              Until <When at={waiting_until} isExact /> (<When at={waiting_until} />
              ).
            </>
          )}
          {replay_of !== null && (
            <>
              {" "}
              Replay of <a href={pagePath(`deliveries/${replay_of}`)}>another delivery</a>.
            </>
          )}
          {replayed_by !== null && (
            <>
              {" "}
              <a href={pagePath(`deliveries/${replayed_by}`)}>Newest replay</a>
            </>
          )}
        </p>
        <DeliveryGates gates={delivery.gates} />
        <DeliveryActions delivery={delivery} />
      </div>
    </section>
  );
}

/** All attempts in order, with one of them in detail. */
export function Attempts({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { attempts } = delivery;
  const chosen = useSignal<number | null>(null);
  const at = Math.min(chosen.value ?? attempts.length - 1, attempts.length - 1);
  const attempt = attempts[at];
  const step = (by: number) => (chosen.value = Math.max(0, Math.min(attempts.length - 1, at + by)));
  if (attempt === undefined) return <p class="soft">No attempts yet.</p>;
  return (
    <>
      <Timeline delivery={delivery} chosen={at} choose={(index) => (chosen.value = index)} />
      <div class="attempt-steps">
        <button type="button" data-key="[" disabled={at === 0} onClick={() => step(-1)}>
          Previous
        </button>
        <span>
          Attempt {attempt.attempt_number} of {attempts.length}
        </span>
        <button type="button" data-key="]" disabled={at === attempts.length - 1} onClick={() => step(1)}>
          Next
        </button>
      </div>
      <AttemptView attempt={attempt} webhookId={delivery.webhook_id} />
      <RequestOfAttempt deliveryId={delivery.id} number={attempt.attempt_number} />
      <AttemptComparison delivery={delivery} attempt={attempt} />
    </>
  );
}
