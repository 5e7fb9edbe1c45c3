import type { Signal } from "@preact/signals";
import { useId } from "preact/hooks";

/** Reason for a pause or mute. */
export function ReasonField({ reason }: { readonly reason: Signal<string> }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>Reason (optional)</label>
      <input
        id={id}
        maxLength={255}
        autocomplete="off"
        value={reason.value}
        onInput={({ currentTarget }) => (reason.value = currentTarget.value)}
      />
    </div>
  );
}
