import { useSignal, type ReadonlySignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useRef } from "preact/hooks";
import { ApiError } from "../../shared/api.ts";
import type { FormBody, FormProblem } from "./form-fields.ts";

export interface FormSending {
  readonly form: RefObject<HTMLFormElement | null>;
  /** Problems found locally or by the server. */
  readonly problems: ReadonlySignal<readonly FormProblem[]>;
  readonly error: ReadonlySignal<ApiError | null>;
  readonly isBusy: ReadonlySignal<boolean>;
  readonly submit: (
    typed: FormBody,
    send: (body: Readonly<Record<string, unknown>>) => Promise<void>,
  ) => Promise<void>;
}

/** Submits a form, shows problems at their fields, and focuses the first invalid field. */
export function useFormSending(): FormSending {
  const form = useRef<HTMLFormElement>(null);
  const problems = useSignal<readonly FormProblem[]>([]);
  const error = useSignal<ApiError | null>(null);
  const isBusy = useSignal(false);
  const show = (found: readonly FormProblem[]) => {
    problems.value = found;
    // Wait until the problems are rendered, then expand and focus the first invalid field.
    requestAnimationFrame(() => {
      const first = form.current?.querySelector<HTMLElement>("[aria-invalid=true]");
      first?.closest("details")?.setAttribute("open", "");
      first?.focus();
    });
  };
  const submit: FormSending["submit"] = async ({ body, problems: found }, send) => {
    error.value = null;
    problems.value = [];
    if (found.length > 0) return show(found);
    isBusy.value = true;
    try {
      await send(body);
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      error.value = thrown;
      show(thrown.problem?.errors ?? []);
    } finally {
      isBusy.value = false;
    }
  };
  return { form, problems, error, isBusy, submit };
}
