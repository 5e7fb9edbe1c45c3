import { type Signal, useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { ApiError } from "../../shared/api.ts";
import { t } from "../language.ts";
import { AddressField } from "./address-field.tsx";
import { EventPicker } from "./event-picker.tsx";

/** Fields of every endpoint. Typed values survive refreshes. */
export interface EndpointDraft {
  readonly url: Signal<string>;
  readonly events: Signal<readonly string[]>;
  readonly description: Signal<string>;
}

export function useDraft(first: {
  readonly url: string;
  readonly events: readonly string[];
  readonly description: string;
}): EndpointDraft {
  return {
    url: useSignal(first.url),
    events: useSignal(first.events),
    description: useSignal(first.description),
  };
}

export function draftBody({ url, events, description }: EndpointDraft): object {
  return { url: url.value, events: events.value, description: description.value };
}

/** `except` is the endpoint being edited, which may already have this address. */
export function EndpointFields(props: { readonly draft: EndpointDraft; readonly except: string | null }) {
  const { url, events, description } = props.draft;
  const id = useId();
  return (
    <>
      <AddressField value={url.value} except={props.except} onChange={(value) => (url.value = value)} />
      <EventPicker value={events.value} onChange={(value) => (events.value = value)} />
      <p class="field">
        <label for={id}>{t("field.description")}</label>
        <input
          id={id}
          maxLength={1_024}
          value={description.value}
          onInput={({ currentTarget }) => (description.value = currentTarget.value)}
        />
      </p>
    </>
  );
}

/** Submits a form to the API and keeps the error. */
export function useSubmit(send: () => Promise<void>) {
  const error = useSignal<ApiError | null>(null);
  const submit = async () => {
    error.value = null;
    try {
      await send();
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      error.value = failure;
    }
  };
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    void submit();
  };
  return { error: error.value, onSubmit };
}
