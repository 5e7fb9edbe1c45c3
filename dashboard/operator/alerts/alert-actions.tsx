import { callApi } from "../../shared/api.ts";
import type { Alert, AlertRule } from "../../shared/resources.ts";
import { ActionButton } from "../action-button.tsx";
import { HoldButton } from "../hold-button.tsx";

/** Mutes notifications for a while, even if the alert resolves and fires again. */
export function MuteAlert({ alert }: { readonly alert: Alert }) {
  if (alert.state === "resolved") return null;
  return (
    <HoldButton
      label="Mute"
      name={alert.title}
      title="Mute this alert?"
      explanation="Choose when the mute ends. If the alert is still firing then, notifications are sent."
      done="Muted"
      needsEnd
      hold={(hold) => callApi({ method: "POST", path: `v1/alerts/${alert.id}/mute`, body: hold })}
    />
  );
}

/** Enables or disables a rule. Custom rules can be deleted. */
export function RuleSwitch({ rule }: { readonly rule: AlertRule }) {
  const path = `v1/alert-rules/${rule.name}`;
  const enabled = !rule.enabled;
  return (
    <div class="actions">
      <ActionButton
        label={`${enabled ? "Enable" : "Disable"} ${rule.name}`}
        run={() => callApi({ method: "PUT", path, body: { enabled } })}
        done={enabled ? "Rule enabled" : "Rule disabled"}
      />
      {!rule.is_default && (
        <ActionButton
          label={`Delete ${rule.name}`}
          run={() => callApi({ method: "DELETE", path })}
          done="Deleted"
        />
      )}
    </div>
  );
}
