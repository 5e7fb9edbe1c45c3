import type { ComponentChildren } from "preact";
import type { Webhook, WebhookHealth } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { When } from "../../shared/ui/when.tsx";
import { statusReasonText } from "./webhook-link.tsx";

/** Gates that can hold deliveries of a webhook: open or closed, since when, until when, and why. */
export function Gates({ webhook, health }: { readonly webhook: Webhook; readonly health: WebhookHealth }) {
  const { circuit_breaker: circuit, paused_until, pause_reason, in_flight } = health;
  const isActive = webhook.status === "active";
  return (
    <ul class="gates">
      <Gate title="Webhook" isOpen={isActive}>
        {isActive ? "active" : `${webhook.status}: ${statusReasonText(webhook.status_reason)}`}
      </Gate>
      <Gate title="Manual pause" isOpen={webhook.pause === null}>
        {webhook.pause === null ? (
          "not paused"
        ) : (
          <>
            paused <When at={webhook.pause.since} />
            {webhook.pause.until !== null && (
              <>
                , until <When at={webhook.pause.until} isExact />
              </>
            )}
            {webhook.pause.reason !== null && `: ${webhook.pause.reason}`}
          </>
        )}
      </Gate>
      <Gate title="Circuit" isOpen={circuit.state === "closed"}>
        {circuit.state === "closed" ? "closed" : circuit.state.replace("_", " ").toLowerCase()}
        {circuit.state !== "closed" && (
          <>
            {" "}
            since <When at={circuit.state_transition_at} />
          </>
        )}
        {circuit.next_half_open_at !== null && (
          <>
            , next probe <When at={circuit.next_half_open_at} />
          </>
        )}
        {circuit.total_calls_in_window > 0 && (
          <span class="soft">
            {" "}
            ({circuit.failure_count_in_window} of {circuit.total_calls_in_window} failed)
          </span>
        )}
      </Gate>
      <Gate title="Automatic pause" isOpen={paused_until === null}>
        {paused_until === null ? (
          "none"
        ) : (
          <>
            {(pause_reason ?? "").replaceAll("_", " ")} until <When at={paused_until} isExact /> (
            <When at={paused_until} />)
          </>
        )}
      </Gate>
      {health.disables_at !== null && (
        <Gate title="Disable rule" isOpen={webhook.active}>
          will be disabled <When at={health.disables_at} isExact /> (<When at={health.disables_at} />) if no
          delivery is accepted until then
        </Gate>
      )}
      <Gate title="In flight" isOpen>
        {in_flight} {in_flight === 1 ? "request" : "requests"}
      </Gate>
    </ul>
  );
}

function Gate(props: {
  readonly title: string;
  readonly isOpen: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <li>
      <Badge tone={props.isOpen ? "good" : "held"} text={props.isOpen ? "open" : "holding"} />
      <strong>{props.title}</strong>
      <span>{props.children}</span>
    </li>
  );
}
