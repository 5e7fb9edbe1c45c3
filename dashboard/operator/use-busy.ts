import { useSignal, type ReadonlySignal } from "@preact/signals";
import { ApiError } from "../shared/api.ts";

interface Busy {
  readonly isBusy: ReadonlySignal<boolean>;
  /** What the last call was refused with. */
  readonly error: ReadonlySignal<ApiError | null>;
  /** Does something with the server; what is no answer of it is thrown on. */
  readonly run: (work: () => Promise<unknown>) => Promise<void>;
}

/** For buttons and forms: busy while something is under way, and what came of it when it failed. */
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
