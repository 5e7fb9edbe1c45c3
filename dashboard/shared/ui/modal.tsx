import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** A dialog that holds the focus, ends with Esc, and gives the focus back. */
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
    dialog.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
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
    </dialog>
  );
}
