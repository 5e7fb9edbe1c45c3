import type { Attempt } from "../../shared/resources.ts";
import { duration } from "../../shared/format.ts";
import { Facts } from "../../shared/ui/data-table.tsx";
import { TextView } from "../../shared/ui/text-view.tsx";
import { When } from "../../shared/ui/when.tsx";
import { revisionPath } from "../webhook/webhook-timeline.tsx";
import { outcomeText, timingsText } from "./wording.ts";

const retryAfterTexts: Readonly<Record<string, string>> = {
  lower_bound: "applied",
  none: "not needed, the retry schedule waits longer",
  unparsable: "ignored, not a valid time",
  beyond_horizon: "longer than events are kept",
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
          ["Duration", duration(attempt.duration_ms)],
          ["Status", http_status_code ?? "no response"],
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
            ? ([["Receiver", "may have processed it without responding"]] as const)
            : []),
        ]}
      />
      <h3>Response</h3>
      {response_body_sample === null || response_body_sample === "" ? (
        <p class="soft">{http_status_code === null ? "No response." : "The response had no body."}</p>
      ) : (
        <TextView text={response_body_sample} label="Response body, first 1,024 bytes" />
      )}
      {headers !== null && headers.length > 0 && (
        <TextView
          text={headers.map(({ name, value }) => `${name}: ${value}`).join("\n")}
          label={attempt.metadata_truncated ? "Response headers, truncated" : "Response headers"}
        />
      )}
    </div>
  );
}

/** Webhook configuration at the time of the attempt. */
function configurationFacts({ config_revision: revision }: Attempt, webhookId: string) {
  if (revision === null) return [];
  const link = (
    <a key="revision" href={revisionPath(webhookId, revision)}>
      revision {revision}
    </a>
  );
  return [["Configuration", link]] as const;
}

/** Stored for each attempt that was not accepted, and for some others. */
function connectionFacts(attempt: Attempt) {
  const { http_version, peer_address } = attempt;
  const timings = timingsText(attempt);
  return [
    ...(peer_address === null ? [] : ([["Connected to", peer_address]] as const)),
    ...(http_version === null ? [] : ([["Protocol", `HTTP/${http_version}`]] as const)),
    ...(timings === "" ? [] : ([["Timings", timings]] as const)),
  ];
}
