import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { ApiError } from "../shared/api.ts";
import { announce } from "../shared/ui/announcer.tsx";
import { ErrorText } from "./error-text.tsx";

/** A button that runs an action and announces its result or error. */
export function Action(props: {
  readonly children: ComponentChildren;
  readonly run: () => Promise<string | null>;
  readonly isPrimary?: boolean;
}) {
  const isBusy = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const press = async () => {
    isBusy.value = true;
    error.value = null;
    try {
      const said = await props.run();
      if (said !== null) announce(said);
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      error.value = failure;
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <>
      <button
        type="button"
        class={props.isPrimary === true ? "primary" : undefined}
        aria-disabled={isBusy.value}
        onClick={() => void (isBusy.value || press())}
      >
        {props.children}
      </button>
      {error.value !== null && <ErrorText error={error.value} />}
    </>
  );
}
