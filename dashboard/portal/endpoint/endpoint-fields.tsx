import { type Signal, useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { ApiError } from "../../shared/api.ts";
import { t } from "../language.ts";
import { AddressField } from "./address-field.tsx";
import { EventPicker } from "./event-picker.tsx";

/** What every endpoint has. It stays as it was typed, whatever is refreshed around it. */
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

/** `except` is the endpoint that may have this address already. */
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

/** A form that calls the API, and keeps what went wrong. */
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
