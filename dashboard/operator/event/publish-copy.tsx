import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { ApiError, callApi } from "../../shared/api.ts";
import { laidOut, memberText, tokensOf } from "../../shared/json/json-tokens.ts";
import { pagePath } from "../../shared/root.ts";
import { session } from "../../shared/session.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import type { EventDetail } from "./event-content.tsx";

interface Draft {
  readonly type: string;
  /** JSON as it was typed, so that no digit of the original changes. */
  readonly data: string;
}

/** Publishes another event like this one, edited before. `text` is the answer that told of the event. */
export function PublishCopy({ event, text }: { readonly event: EventDetail; readonly text: string }) {
  const isOpen = useSignal(false);
  const { go } = useAddress();
  if (session.value?.role === "read" || event.raw || event.payload_removed) return null;
  const draft = { type: event.event_type, data: memberText(text, { member: "data" }) ?? "{}" };
  const publish = async ({ type, data }: Draft) => {
    const { value } = await callApi<{ readonly id: string }>({
      method: "POST",
      path: "v1/events",
      bodyText: `{${[
        `"event_type":${JSON.stringify(type)}`,
        `"data":${data}`,
        `"priority":${JSON.stringify(event.priority)}`,
        ...(session.value?.tenant_id === null ? [`"tenant_id":${JSON.stringify(event.tenant_id)}`] : []),
        ...(event.source === null ? [] : [`"source":${JSON.stringify(event.source)}`]),
      ].join(",")}}`,
    });
    isOpen.value = false;
    announce("Published");
    go(pagePath(`events/${value.id}`));
  };
  return (
    <>
      <button type="button" data-command="Publish a copy…" onClick={() => (isOpen.value = true)}>
        Publish a copy…
      </button>
      {isOpen.value && (
        <Modal title="Publish a copy" onClose={() => (isOpen.value = false)}>
          <CopyForm draft={draft} publish={publish} />
        </Modal>
      )}
    </>
  );
}

function CopyForm(props: { readonly draft: Draft; readonly publish: (draft: Draft) => Promise<void> }) {
  const type = useSignal(props.draft.type);
  const data = useSignal(pretty(props.draft.data));
  const fault = useSignal<string | null>(null);
  const error = useSignal<ApiError | null>(null);
  const isBusy = useSignal(false);
  const id = useId();
  const submit = async () => {
    fault.value = faultOf(data.value);
    error.value = null;
    if (fault.value !== null) return;
    isBusy.value = true;
    try {
      await props.publish({ type: type.value.trim(), data: data.value });
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      error.value = thrown;
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <p>It is a new event with an id of its own, and goes to everybody who asks for its type now.</p>
      <div class="field">
        <label for={`${id}-type`}>Event type</label>
        <input
          id={`${id}-type`}
          value={type.value}
          required
          onInput={({ currentTarget }) => (type.value = currentTarget.value)}
        />
      </div>
      <div class="field">
        <label for={`${id}-data`}>Data (JSON)</label>
        <textarea
          id={`${id}-data`}
          rows={12}
          spellcheck={false}
          aria-invalid={fault.value !== null}
          aria-describedby={`${id}-fault`}
          value={data.value}
          onInput={({ currentTarget }) => (data.value = currentTarget.value)}
        />
        <p id={`${id}-fault`} class="bad-text" role="alert">
          {fault.value}
        </p>
      </div>
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
    return error instanceof Error ? error.message : "This is no JSON.";
  }
}

/** Laid out by tokens: parsing would round numbers. */
function pretty(text: string): string {
  return laidOut(tokensOf(text))
    .map(({ space, text: piece }) => space + piece)
    .join("");
}
