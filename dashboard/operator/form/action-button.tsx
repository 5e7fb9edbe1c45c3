import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { refreshAll, useBusy } from "../../shared/queries.ts";
import { session } from "../../shared/session.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { Modal } from "../../shared/ui/modal.tsx";

/**
 * Whether this session may change webhooks and deliveries. This only hides controls; the server enforces the
 * permission.
 */
export function mayManage(): boolean {
  const role = session.value?.role;
  return role === "admin" || role === "manage";
}

/** Whether this session may change settings of the whole deployment. */
export function mayAdminister(): boolean {
  return session.value?.role === "admin";
}

/** Runs one call and shows its result. */
export function ActionButton(props: {
  readonly label: string;
  /** Distinguishes buttons with the same label on one page. Buttons with a name are not offered in the palette. */
  readonly name?: string;
  readonly run: () => Promise<unknown>;
  /** Announced on success. */
  readonly done: string;
  readonly isPrimary?: boolean;
  readonly isDisabled?: boolean;
  readonly shortcut?: string;
}) {
  const { label, name, run, done, isPrimary = false, isDisabled = false, shortcut } = props;
  const { isBusy, error, run: runBusy } = useBusy();
  const act = () =>
    runBusy(async () => {
      await run();
      announce(done);
      await refreshAll();
    });
  return (
    <>
      <button
        type="button"
        class={isPrimary ? "primary" : undefined}
        data-key={shortcut}
        aria-label={name === undefined ? undefined : `${label} ${name}`}
        data-command={name === undefined ? label : undefined}
        disabled={isBusy.value || isDisabled}
        onClick={() => void act()}
      >
        {label}
      </button>
      {error.value !== null && <ErrorNote error={error.value} />}
    </>
  );
}

/** A link to another page, as a button. */
export function LinkButton(props: {
  readonly href: string;
  readonly label: string;
  /** Name in the palette. Defaults to the label. */
  readonly command?: string;
  readonly isPrimary?: boolean;
}) {
  const { href, label, command = label, isPrimary = false } = props;
  return (
    <a class={isPrimary ? "button primary" : "button"} href={href} data-command={command}>
      {label}
    </a>
  );
}

/**
 * Opens a dialog. `children` gets the function that closes the dialog. The state of `children` is lost when the dialog
 * closes.
 */
export function DialogButton(props: {
  /** Label without the ellipsis, which the button adds. */
  readonly label: string;
  /** Distinguishes buttons with the same label on one page. Buttons with a name are not offered in the palette. */
  readonly name?: string | undefined;
  readonly title: string;
  readonly isPrimary?: boolean;
  readonly children: (close: () => void) => ComponentChildren;
}) {
  const { label, name, title, isPrimary = false, children } = props;
  const isOpen = useSignal(false);
  const close = () => (isOpen.value = false);
  return (
    <>
      <button
        type="button"
        class={isPrimary ? "primary" : undefined}
        aria-label={name === undefined ? undefined : `${label} ${name}…`}
        data-command={name === undefined ? `${label}…` : undefined}
        onClick={() => (isOpen.value = true)}
      >
        {label}…
      </button>
      {isOpen.value && (
        <Modal title={title} onClose={close}>
          {children(close)}
        </Modal>
      )}
    </>
  );
}

/** Explains the consequence of a call before it runs. */
export function ConfirmButton(props: {
  readonly label: string;
  readonly name?: string;
  readonly title: string;
  /** Label of the button in the dialog, if it differs from `label`. */
  readonly action?: string;
  /**
   * Runs the call. If the call removes the button that opened the dialog, it must not close the dialog, so that the
   * focus stays nearby.
   */
  readonly run: (close: () => void) => Promise<unknown>;
  /** Announced on success. */
  readonly done: string;
  readonly children: ComponentChildren;
}) {
  const { label, name, title, action = label, run, done, children } = props;
  return (
    <DialogButton label={label} name={name} title={title}>
      {(close) => (
        <>
          <p>{children}</p>
          <p class="actions">
            <ActionButton label={action} isPrimary run={() => run(close)} done={done} />
          </p>
        </>
      )}
    </DialogButton>
  );
}
