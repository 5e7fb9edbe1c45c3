import { useSignal } from "@preact/signals";
import type { ComponentChildren, Ref } from "preact";

interface PopoverProps {
  /** Value of `popovertarget` on the button that opens it. */
  readonly id: string;
  readonly label: string;
  readonly innerRef?: Ref<HTMLDivElement>;
  /** Rendered on first opening and kept afterwards, with its input. */
  readonly children: () => ComponentChildren;
}

export function Popover({ id, label, innerRef = null, children }: PopoverProps) {
  const isNeeded = useSignal(false);
  return (
    <div
      ref={innerRef}
      id={id}
      popover="auto"
      class="popover"
      role="group"
      aria-label={label}
      onBeforeToggle={() => (isNeeded.value = true)}
    >
      {isNeeded.value && children()}
    </div>
  );
}
