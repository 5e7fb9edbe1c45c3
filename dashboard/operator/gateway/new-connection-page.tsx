import { useSignal, type Signal } from "@preact/signals";
import { useId } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { refreshAll, useApi } from "../../shared/queries.ts";
import type { ListedWebhook, Page, Source, SourceConnection, Webhook } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { session } from "../../shared/session.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { problemOf, type FormProblem } from "../form/form-fields.ts";
import { FormInput } from "../form/form-input.tsx";
import { SecretOnce } from "../webhook/secret-once.tsx";
import { shortUrl } from "../webhook/webhook-link.tsx";
import { ConnectionForm } from "./connection-form.tsx";

/** Never published, so a webhook that is created for a connection receives only messages from its connections. */
const relayedType = "relayed";
const newWebhook = "new";

interface Ends {
  readonly sourceId: string;
  /** `newWebhook` creates one for `url`. */
  readonly webhookId: string;
  readonly url: string;
}

export function NewConnectionPage() {
  const { params, go } = useAddress();
  const ends = useSignal<Ends>({ sourceId: params.get("source_id") ?? "", webhookId: "", url: "" });
  const made = useSignal<{ readonly webhook: Webhook; readonly isConnected: boolean } | null>(null);
  const send = async (rest: object) => {
    const { sourceId, webhookId, url } = ends.value;
    // Reuse the webhook if creating the connection failed in an earlier try.
    if (webhookId === newWebhook)
      made.value = { webhook: await makeWebhook({ sourceId, url }), isConnected: false };
    const target = made.value?.webhook.id ?? webhookId;
    ends.value = { ...ends.value, webhookId: target };
    const body = { ...rest, source_id: sourceId, webhook_id: target };
    await callApi<SourceConnection>({ method: "POST", path: "v1/connections", body });
    announce("Connection created");
    await refreshAll();
    if ((made.value?.webhook.secret ?? null) === null) leave();
    else if (made.value !== null) made.value = { ...made.value, isConnected: true };
  };
  const leave = () => go(pagePath(`sources/${ends.value.sourceId}`));
  return (
    <>
      <p class="trail">
        <a href={pagePath("connections")}>Connections</a>
      </p>
      <h1>New connection</h1>
      <ConnectionForm
        before={{ required: "true" }}
        isNew
        label="Create connection"
        sourceId={ends.value.sourceId}
        send={send}
        lead={({ problems }) => <EndFields ends={ends} problems={problems} />}
        problemsOfParts={() => problemsOf(ends.value)}
      />
      {made.value?.isConnected === true && (
        <Modal title="Connection created" onClose={leave}>
          <p>The receiver of the new webhook verifies messages with this secret.</p>
          <SecretOnce secret={made.value.webhook.secret ?? ""} />
          <button type="button" class="primary" onClick={leave}>
            Open source
          </button>
        </Modal>
      )}
    </>
  );
}

function problemsOf({ sourceId, webhookId, url }: Ends): readonly FormProblem[] {
  const missing = "is required";
  return [
    ...(sourceId === "" ? [{ field: "source_id", message: missing }] : []),
    ...(webhookId === "" ? [{ field: "webhook_id", message: missing }] : []),
    ...(webhookId === newWebhook && url.trim() === "" ? [{ field: "url", message: missing }] : []),
  ];
}

async function makeWebhook({ sourceId, url }: Pick<Ends, "sourceId" | "url">): Promise<Webhook> {
  const { value: source } = await callApi<Source>({ path: `v1/sources/${sourceId}` });
  const body = {
    url: url.trim(),
    events: [relayedType],
    description: `From ${source.name}`,
    ...(session.value?.tenant_id === null && { tenant_id: source.tenant_id }),
  };
  return (await callApi<Webhook>({ method: "POST", path: "v1/webhooks", body })).value;
}

function EndFields({
  ends,
  problems,
}: {
  readonly ends: Signal<Ends>;
  readonly problems: readonly FormProblem[];
}) {
  const id = useId();
  const sources = useApi<Page<Source>>({ path: "v1/sources", query: { limit: 250 } }, { everyMs: false });
  const webhooks = useApi<Page<ListedWebhook>>(
    { path: "v1/webhooks", query: { limit: 250 } },
    { everyMs: false },
  );
  const { sourceId, webhookId, url } = ends.value;
  const tenantId = sources.data?.data.find((one) => one.id === sourceId)?.tenant_id;
  const targets = (webhooks.data?.data ?? []).filter((one) => (tenantId ?? one.tenant_id) === one.tenant_id);
  return (
    <>
      <FormInput
        id={`${id}-source`}
        field={{
          name: "source_id",
          label: "Source",
          kind: "choice",
          choices: [["", "Select…"], ...(sources.data?.data ?? []).map((one) => [one.id, one.name] as const)],
        }}
        text={sourceId}
        problem={problemOf(problems, "source_id")}
        change={(chosen) => (ends.value = { ...ends.value, sourceId: chosen })}
      />
      <FormInput
        id={`${id}-webhook`}
        field={{
          name: "webhook_id",
          label: "Webhook",
          kind: "choice",
          hint: "It receives all messages of its connections, regardless of its event types.",
          choices: [
            ["", "Select…"],
            [newWebhook, "New webhook"],
            ...targets.map((one) => [one.id, shortUrl(one.url)] as const),
          ],
        }}
        text={webhookId}
        problem={problemOf(problems, "webhook_id")}
        change={(chosen) => (ends.value = { ...ends.value, webhookId: chosen })}
      />
      {webhookId === newWebhook && (
        <FormInput
          id={`${id}-url`}
          field={{
            name: "url",
            label: "URL of the new webhook",
            kind: "line",
            hint: "An https URL with a public address.",
          }}
          text={url}
          problem={problemOf(problems, "url")}
          change={(typed) => (ends.value = { ...ends.value, url: typed })}
        />
      )}
    </>
  );
}
