import { type ReadonlySignal, useSignal } from "@preact/signals";
import { ApiError } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import { session } from "../../shared/session.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";

/** Whether this session may change webhooks and deliveries. The server enforces it; this only hides controls. */
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
  /** Distinguishes buttons with the same label on one page. The palette does not offer these. */
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

interface Busy {
  readonly isBusy: ReadonlySignal<boolean>;
  /** Error of the last call. */
  readonly error: ReadonlySignal<ApiError | null>;
  /** Runs a server call. Rethrows errors other than `ApiError`. */
  readonly run: (work: () => Promise<unknown>) => Promise<void>;
}

/** Busy state and last error, for buttons and forms. */
export function useBusy(): Busy {
  const isBusy = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const run = async (work: () => Promise<unknown>) => {
    isBusy.value = true;
    error.value = null;
    try {
      await work();
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      error.value = thrown;
    } finally {
      isBusy.value = false;
    }
  };
  return { isBusy, error, run };
}
