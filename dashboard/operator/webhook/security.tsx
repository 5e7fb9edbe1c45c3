import type { Webhook } from "../../shared/resources.ts";
import { shell } from "../../shared/shell-text.ts";
import { Facts } from "../../shared/ui/data-table.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { mayManage } from "../action-button.tsx";
import { RotateButton } from "./rotate-button.tsx";

/** Authentication of requests, and verification of the receiver. Secrets are not shown. */
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
          ["OAuth 2.0", webhook.oauth2 === null ? "none" : "one token per delivery"],
          ["Client certificate", certificate === null ? "none" : certificate.subject],
          ["Receiver verification", permissionText(verification)],
          ["Verified", <When key="granted" at={verification.granted_at} isExact />],
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
  if (state === "none") return "not required";
  return `${state} by ${method}${detail === null ? "" : `: ${detail}`}`;
}
