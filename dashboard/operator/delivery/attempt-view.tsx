import type { Attempt } from "../../shared/resources.ts";
import { duration } from "../../shared/time/time-format.ts";
import { Facts } from "../../shared/ui/data-table.tsx";
import { TextView } from "../../shared/ui/text-view.tsx";
import { When } from "../../shared/ui/when.tsx";
import { revisionPath } from "../webhook/webhook-timeline.tsx";
import { outcomeText, timingsText } from "./wording.ts";

const retryAfterTexts: Readonly<Record<string, string>> = {
  lower_bound: "and so it was",
  none: "the schedule waits longer anyway",
  unparsable: "which is no time, and was ignored",
  beyond_horizon: "which is longer than an event is kept",
};

export function AttemptView({
  attempt,
  webhookId,
}: {
  readonly attempt: Attempt;
  readonly webhookId: string;
}) {
  const {
    http_status_code,
    error_message,
    response_body_sample,
    retry_after,
    response_headers: headers,
  } = attempt;
  return (
    <div class="attempt">
      <Facts
        rows={[
          ["Sent", <When key="sent" at={attempt.executed_at} isExact />],
          ["Took", duration(attempt.duration_ms)],
          ["Status", http_status_code ?? "no answer"],
          ["Outcome", outcomeText(attempt)],
          ...(error_message === null ? [] : ([["Error", <span key="error">{error_message}</span>]] as const)),
          ...(retry_after === null
            ? []
            : ([
                ["Retry-After", `${retry_after.value}, ${retryAfterTexts[retry_after.effect] ?? ""}`],
              ] as const)),
          ...connectionFacts(attempt),
          ...configurationFacts(attempt, webhookId),
          ...(attempt.receiver_state_unknown
            ? ([["Receiver", "may have processed it although no answer came"]] as const)
            : []),
        ]}
      />
      <h3>Answer</h3>
      {response_body_sample === null || response_body_sample === "" ? (
        <p class="soft">{http_status_code === null ? "No answer came." : "The answer had no body."}</p>
      ) : (
        <TextView text={response_body_sample} label="Body of the answer, at most 1,024 bytes" />
      )}
      {headers !== null && headers.length > 0 && (
        <TextView
          text={headers.map(({ name, value }) => `${name}: ${value}`).join("\n")}
          label={attempt.metadata_truncated ? "Headers of the answer, cut" : "Headers of the answer"}
        />
      )}
    </div>
  );
}

/** How the webhook was configured then. */
function configurationFacts({ config_revision: revision }: Attempt, webhookId: string) {
  if (revision === null) return [];
  const link = (
    <a key="revision" href={revisionPath(webhookId, revision)}>
      revision {revision}
    </a>
  );
  return [["Configuration", link]] as const;
}

/** Kept for each attempt that was not accepted, and for some of the others. */
function connectionFacts(attempt: Attempt) {
  const { http_version, peer_address } = attempt;
  const timings = timingsText(attempt);
  return [
    ...(peer_address === null ? [] : ([["Connected to", peer_address]] as const)),
    ...(http_version === null ? [] : ([["Protocol", `HTTP/${http_version}`]] as const)),
    ...(timings === "" ? [] : ([["Spent on", timings]] as const)),
  ];
}
