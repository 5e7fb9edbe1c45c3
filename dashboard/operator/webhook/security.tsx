import type { Webhook } from "../../shared/resources.ts";
import { shell } from "../../shared/shell-text.ts";
import { Facts } from "../../shared/ui/data-table.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { mayManage } from "../action-button.tsx";
import { RotateButton } from "./rotate-button.tsx";

/** How requests show whose they are, and whether the receiver permitted them. Secrets are never here. */
export function Security({ webhook }: { readonly webhook: Webhook }) {
  const { id, verification, client_certificate: certificate, credential_headers: headers } = webhook;
  const names = Object.keys(headers);
  return (
    <Panel title="Security" twin={{ path: `v1/webhooks/${id}`, cli: shell`webhooks get ${id}` }}>
      <Facts
        rows={[
          ["Signatures", webhook.signing.schemes.join(", ") || "none"],
          ["Signing secret", webhook.secret ?? "none"],
          ["Bearer token", webhook.has_bearer_token ? `sent in the ${webhook.bearer_token_in}` : "none"],
          ["Secret headers", names.length === 0 ? "none" : names.join(", ")],
          ["OAuth 2.0", webhook.oauth2 === null ? "none" : "a token for each delivery"],
          ["Client certificate", certificate === null ? "none" : certificate.subject],
          ["Permission", permissionText(verification)],
          ["Permitted", <When key="granted" at={verification.granted_at} isExact />],
          ...(verification.dns_record === null
            ? []
            : ([
                ["DNS record", `${verification.dns_record.name} TXT ${verification.dns_record.value}`],
              ] as const)),
        ]}
      />
      {mayManage() && (
        <div class="actions">
          <RotateButton path={`v1/webhooks/${id}`} />
        </div>
      )}
    </Panel>
  );
}

function permissionText({ method, state, detail }: Webhook["verification"]): string {
  if (state === "none") return "the receiver is not asked";
  return `${state} by ${method}${detail === null ? "" : `: ${detail}`}`;
}
