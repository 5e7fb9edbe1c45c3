import { useSignal } from "@preact/signals";
import { useRoute } from "preact-iso";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { useApi } from "../../shared/queries.ts";
import type { Webhook } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { ResourceForm, saveChanges } from "../form/resource-form.tsx";
import { SecretOnce } from "./secret-once.tsx";
import { typedWebhook, webhookFields } from "./webhook-fields.ts";
import { shortUrl } from "./webhook-link.tsx";

export function NewWebhookPage() {
  const { go } = useAddress();
  const made = useSignal<Webhook | null>(null);
  const send = async (body: object) => {
    const { value } = await callApi<Webhook>({ method: "POST", path: "v1/webhooks", body });
    announce("Webhook created");
    if (value.secret === null) go(pagePath(`webhooks/${value.id}`));
    else made.value = value;
  };
  const leave = () => go(pagePath(`webhooks/${made.value?.id ?? ""}`));
  return (
    <>
      <p class="trail">
        <a href={pagePath("webhooks")}>Webhooks</a>
      </p>
      <h1>New webhook</h1>
      <WebhookForm webhook={null} label="Create webhook" send={send} />
      {made.value !== null && made.value.secret !== null && (
        <Modal title="Webhook created" onClose={leave}>
          <p>The receiver verifies messages with this secret.</p>
          <SecretOnce secret={made.value.secret} />
          <button type="button" class="primary" onClick={leave}>
            Open webhook
          </button>
        </Modal>
      )}
    </>
  );
}

export function EditWebhookPage() {
  const { params } = useRoute();
  const { go } = useAddress();
  const id = params["id"] ?? "";
  const path = `v1/webhooks/${id}`;
  const { data, error } = useApi<Webhook>({ path }, { everyMs: false });
  if (data === null) return <NotLoaded error={error} />;
  const send = async (body: object) => {
    await saveChanges(body, { method: "PATCH", path, body });
    go(pagePath(`webhooks/${id}`));
  };
  return (
    <>
      <p class="trail">
        <a href={pagePath(`webhooks/${id}`)}>{shortUrl(data.url)}</a>
      </p>
      <h1>Edit webhook</h1>
      <WebhookForm webhook={data} label="Save" send={send} />
    </>
  );
}

interface WebhookFormProps {
  /** Null creates a webhook. */
  readonly webhook: Webhook | null;
  readonly label: string;
  /** Sends the changed fields. */
  readonly send: (body: Readonly<Record<string, unknown>>) => Promise<void>;
}

function WebhookForm({ webhook, label, send }: WebhookFormProps) {
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
