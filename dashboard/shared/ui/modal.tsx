import { useSignal } from "@preact/signals";
import type { ComponentChildren, Ref } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Announcer } from "./announcer.tsx";
import { Icon } from "./icon.tsx";

/** A modal dialog that traps the focus, closes with Esc, and restores the focus. It has its own announcer. */
export function Modal(props: {
  readonly title: string;
  readonly closeLabel?: string;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement;
    const around = ancestorsOf(opener);
    dialog.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
      // The action of the dialog may have removed its opener from the page.
      queueMicrotask(() => {
        if (opener?.isConnected === false) focusFirstIn(around.find(({ isConnected }) => isConnected));
      });
    };
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={props.onClose}>
      <header class="dialog-head">
        <h2 id={id}>{props.title}</h2>
        <button
          type="button"
          class="quiet icon-button"
          aria-label={props.closeLabel ?? "Close"}
          onClick={() => dialog.current?.close()}
        >
          <Icon name="close" />
        </button>
      </header>
      {props.children}
      <Announcer />
    </dialog>
  );
}

/** Ancestors, nearest first. */
function ancestorsOf(element: Element | null): readonly Element[] {
  const parent = element?.parentElement ?? null;
  return parent === null ? [] : [parent, ...ancestorsOf(parent)];
}

/** Focuses the first control near the removed opener, unless another element has the focus. */
function focusFirstIn(place: Element | undefined): void {
  if (document.activeElement !== document.body) return;
  place?.querySelector<HTMLElement>("a[href], button:not(:disabled), input:not(:disabled)")?.focus();
}

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
