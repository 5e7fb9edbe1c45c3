import { useSignal } from "@preact/signals";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { laidOutText, memberText } from "../../shared/json-tokens.ts";
import { useBusy } from "../../shared/queries.ts";
import type { EventDetail } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { session } from "../../shared/session.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { TextAreaField, TextField } from "../../shared/ui/field.tsx";
import { DialogButton } from "../form/action-button.tsx";

interface Draft {
  readonly type: string;
  /** Raw JSON text, because parsing could change digits. */
  readonly data: string;
}

/** Publishes an edited copy of this event. `text` is the raw response of the event. */
export function PublishCopy({ event, text }: { readonly event: EventDetail; readonly text: string }) {
  if (event.raw || event.payload_removed) return null;
  return (
    <PublishButton
      title="Publish a copy"
      draft={{ type: event.event_type, data: memberText(text, { member: "data" }) ?? "{}" }}
      members={[
        `"priority":${JSON.stringify(event.priority)}`,
        ...tenantMember(event.tenant_id),
        ...(event.source === null ? [] : [`"source":${JSON.stringify(event.source)}`]),
      ]}
    />
  );
}

/** Publishes an event of a type, prefilled with its first example. */
export function PublishExample(props: {
  readonly name: string;
  /** JSON text. */
  readonly example: string;
  readonly tenantIds: readonly string[];
}) {
  const { name, example, tenantIds } = props;
  const [tenantId] = tenantIds;
  return (
    <PublishButton
      title="Send an example"
      draft={{ type: name, data: example }}
      members={tenantId === undefined ? [] : tenantMember(tenantId)}
    />
  );
}

/** API keys that belong to a tenant may not pass `tenant_id`. */
function tenantMember(tenantId: string): readonly string[] {
  return session.value?.tenant_id === null ? [`"tenant_id":${JSON.stringify(tenantId)}`] : [];
}

interface PublishProps {
  readonly title: string;
  readonly draft: Draft;
  /** Fields of the event other than type and data. */
  readonly members: readonly string[];
}

function PublishButton({ title, draft, members }: PublishProps) {
  const { go } = useAddress();
  if (session.value?.role === "read") return null;
  const publish = async ({ type, data }: Draft, close: () => void) => {
    const { value } = await callApi<{ readonly id: string }>({
      method: "POST",
      path: "v1/events",
      bodyText: `{${[`"event_type":${JSON.stringify(type)}`, `"data":${data}`, ...members].join(",")}}`,
    });
    close();
    announce("Published");
    go(pagePath(`events/${value.id}`));
  };
  return (
    <DialogButton label={title} title={title}>
      {(close) => <CopyForm draft={draft} publish={(edited) => publish(edited, close)} />}
    </DialogButton>
  );
}

function CopyForm(props: { readonly draft: Draft; readonly publish: (draft: Draft) => Promise<void> }) {
  const type = useSignal(props.draft.type);
  const data = useSignal(laidOutText(props.draft.data));
  const fault = useSignal<string | null>(null);
  const { isBusy, error, run } = useBusy();
  const submit = async () => {
    fault.value = faultOf(data.value);
    if (fault.value !== null) return;
    await run(() => props.publish({ type: type.value.trim(), data: data.value }));
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <p>
        This creates a new event with a new ID. It is sent to all webhooks that currently subscribe to its
        type.
      </p>
      <TextField label="Event type" value={type} required />
      <TextAreaField
        label="Data (JSON)"
        value={data}
        rows={12}
        spellcheck={false}
        isWrong={fault.value !== null}
        note={fault.value}
        isLive
      />
      {error.value !== null && <ErrorNote error={error.value} />}
      <button type="submit" class="primary" disabled={isBusy.value}>
        Publish
      </button>
    </form>
  );
}

function faultOf(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : "This is not valid JSON.";
  }
}
