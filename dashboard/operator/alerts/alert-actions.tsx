import { callApi } from "../../shared/api.ts";
import type { Alert, AlertRule } from "../../shared/resources.ts";
import { ActionButton } from "../action-button.tsx";
import { HoldButton } from "../hold-button.tsx";

/** Nobody is told of it for a while, also when it ends and begins again. */
export function MuteAlert({ alert }: { readonly alert: Alert }) {
  if (alert.state === "resolved") return null;
  return (
    <HoldButton
      label="Mute"
      name={alert.title}
      title="Mute this alert?"
      explanation="Choose when the mute ends. What still fires then is told then."
      done="Muted"
      needsEnd
      hold={(hold) => callApi({ method: "POST", path: `v1/alerts/${alert.id}/mute`, body: hold })}
    />
  );
}

/** Whether a rule is looked at; those of people can be taken away. */
export function RuleSwitch({ rule }: { readonly rule: AlertRule }) {
  const path = `v1/alert-rules/${rule.name}`;
  const enabled = !rule.enabled;
  return (
    <div class="actions">
      <ActionButton
        label={`Switch ${enabled ? "on" : "off"} ${rule.name}`}
        run={() => callApi({ method: "PUT", path, body: { enabled } })}
        done={enabled ? "It is looked at" : "It is not looked at"}
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
