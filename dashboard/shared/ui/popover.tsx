import { useSignal } from "@preact/signals";
import type { ComponentChildren, Ref } from "preact";

interface PopoverProps {
  /** The button that opens it has this as its `popovertarget`. */
  readonly id: string;
  readonly label: string;
  readonly innerRef?: Ref<HTMLDivElement>;
  /** Made when it opens for the first time, not with the page; kept from then on, with what was typed. */
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
