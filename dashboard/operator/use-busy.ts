import { useSignal, type ReadonlySignal } from "@preact/signals";
import { ApiError } from "../shared/api.ts";

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
