import { refreshAll } from "../shared/queries.ts";
import { session } from "../shared/session.ts";
import { announce } from "../shared/ui/announcer.tsx";
import { ErrorNote } from "../shared/ui/error-note.tsx";
import { useBusy } from "./use-busy.ts";

/** Whether the key of this session may change webhooks and deliveries. The server decides; this hides what it would refuse. */
export function mayManage(): boolean {
  const role = session.value?.role;
  return role === "admin" || role === "manage";
}

/** Whether it may do what concerns the whole deployment, likewise. */
export function mayAdminister(): boolean {
  return session.value?.role === "admin";
}

/** Does one call, and shows what came of it. */
export function ActionButton(props: {
  readonly label: string;
  /** Names the button where several of a page have the same label; the palette does not offer those. */
  readonly name?: string;
  readonly run: () => Promise<unknown>;
  /** Said when it is done. */
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
