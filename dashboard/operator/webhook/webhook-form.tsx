import { useApi } from "../../shared/queries.ts";
import type { Webhook } from "../../shared/resources.ts";
import { ResourceForm } from "../form/resource-form.tsx";
import { typedWebhook, webhookFields } from "./webhook-fields.ts";

interface WebhookFormProps {
  /** Null creates a webhook. */
  readonly webhook: Webhook | null;
  readonly label: string;
  /** Sends the changed fields. */
  readonly send: (body: Readonly<Record<string, unknown>>) => Promise<void>;
}

export function WebhookForm({ webhook, label, send }: WebhookFormProps) {
  const profiles = useProfileNames();
  return (
    <ResourceForm
      fields={webhookFields}
      choices={{ profile: profiles }}
      before={typedWebhook(webhook)}
      isNew={webhook === null}
      seldom="Limits, order, retries, headers, secrets"
      label={label}
      send={send}
    />
  );
}

function useProfileNames(): readonly (readonly [string, string])[] {
  const { data } = useApi<{ readonly data: readonly { readonly name: string }[] }>(
    { path: "v1/profiles" },
    { everyMs: false },
  );
  return (data?.data ?? [{ name: "standard" }]).map(({ name }) => [name, name]);
}
