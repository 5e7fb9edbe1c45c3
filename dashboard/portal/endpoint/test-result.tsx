import { useEffect } from "preact/hooks";
import { useApi } from "../../shared/queries.ts";
import type { Attempt, DeliveryDetail } from "../../shared/resources.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { TextView } from "../../shared/ui/text-view.tsx";
import { t } from "../language.ts";
import { textWords } from "../text-words.ts";
import { reasonOf } from "./state.ts";

function saidOf(attempt: Attempt | undefined): string {
  if (attempt === undefined) return t("test.waiting");
  if (attempt.outcome === "accepted") return t("test.accepted");
  return reasonOf({ status: attempt.http_status_code, category: attempt.failure_category });
}

/** Polls for the response to a test message. */
export function TestResult({ deliveryId }: { readonly deliveryId: string }) {
  const { data } = useApi<DeliveryDetail>({ path: `v1/deliveries/${deliveryId}` }, { everyMs: 1_000 });
  const attempt = data?.attempts.at(-1);
  const isAnswered = attempt !== undefined;
  const isAccepted = attempt?.outcome === "accepted";
  const said = saidOf(attempt);
  const failedTone: Tone = isAccepted ? "good" : "bad";
  useEffect(() => {
    if (isAnswered) announce(said);
  }, [said]);
  return (
    <div class="test-result">
      <p>
        <Badge tone={isAnswered ? failedTone : "wait"} text={said} />
      </p>
      {attempt !== undefined && attempt.http_status_code !== null && (
        <p class="soft">
          {t("test.answer", {
            status: String(attempt.http_status_code),
            ms: Math.round(attempt.duration_ms),
          })}
        </p>
      )}
      {(attempt?.response_body_sample ?? "") !== "" && (
        <TextView
          text={attempt?.response_body_sample ?? ""}
          label={t("attempt.answerBody")}
          words={textWords()}
        />
      )}
    </div>
  );
}
