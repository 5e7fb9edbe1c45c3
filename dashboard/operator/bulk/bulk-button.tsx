import { useSignal } from "@preact/signals";
import type { BulkAction, BulkTarget } from "./bulk-actions.ts";
import { BulkDialog } from "./bulk-dialog.tsx";

/** Opens the preview of a bulk action. The click fixes the target. */
export function BulkButton(props: {
  readonly action: BulkAction;
  readonly targetNow: () => BulkTarget;
  readonly isPrimary?: boolean;
}) {
  const { action, targetNow, isPrimary = false } = props;
  const target = useSignal<BulkTarget | null>(null);
  const label = `${action.label}…`;
  return (
    <>
      <button
        type="button"
        class={isPrimary ? "primary" : undefined}
        data-command={label}
        onClick={() => (target.value = targetNow())}
      >
        {label}
      </button>
      {target.value !== null && (
        <BulkDialog action={action} target={target.value} close={() => (target.value = null)} />
      )}
    </>
  );
}
