import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { ApiError } from "../../shared/api.ts";
import { useApi } from "../../shared/queries.ts";
import type { Webhook } from "../../shared/resources.ts";
import { session } from "../../shared/session.ts";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { FormInput } from "./form-input.tsx";
import { bodyOf, formFields, typedOf, type FormField, type FormProblem, type Typed } from "./form-fields.ts";

interface WebhookFormProps {
  /** Null makes a new one. */
  readonly webhook: Webhook | null;
  readonly label: string;
  /** Sends what was typed, or what of it has changed. */
  readonly send: (body: Readonly<Record<string, unknown>>) => Promise<void>;
}

export function WebhookForm({ webhook, label, send }: WebhookFormProps) {
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const before = useRef(typedOf(webhook)).current;
  const typed = useSignal<Typed>(before);
  const problems = useSignal<readonly FormProblem[]>([]);
  const error = useSignal<ApiError | null>(null);
  const isBusy = useSignal(false);
  const profiles = useProfileNames();
  const fields = formFields.filter((field) => isFor(field, { isNew: webhook === null }));
  const show = (found: readonly FormProblem[]) => {
    problems.value = found;
    // After the fields say what is wrong, the first of them has the focus, also where it was folded away.
    requestAnimationFrame(() => {
      const first = form.current?.querySelector<HTMLElement>("[aria-invalid=true]");
      first?.closest("details")?.setAttribute("open", "");
      first?.focus();
    });
  };
  const submit = async () => {
    const { body, problems: found } = bodyOf(typed.value, before);
    error.value = null;
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
  const inputOf = (field: FormField) => (
    <FormInput
      key={field.name}
      id={`${id}-${field.name}`}
      field={field.name === "profile" ? { ...field, choices: profiles } : field}
      text={typed.value[field.name] ?? ""}
      problem={problemOf(problems.value, field.name)}
      change={(text) => (typed.value = { ...typed.value, [field.name]: text })}
    />
  );
  return (
    <form
      ref={form}
      class="form panel"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {fields.filter(({ isSeldom = false }) => !isSeldom).map(inputOf)}
      <details>
        <summary>Limits, order, retries, headers, secrets</summary>
        <div class="form">{fields.filter(({ isSeldom = false }) => isSeldom).map(inputOf)}</div>
      </details>
      {error.value !== null && <ErrorNote error={error.value} />}
      <button type="submit" class="primary" disabled={isBusy.value}>
        {label}
      </button>
    </form>
  );
}

function isFor(field: FormField, { isNew }: { readonly isNew: boolean }): boolean {
  const { isForCreation = false, isForAdmins = false } = field;
  return (isNew || !isForCreation) && (!isForAdmins || session.value?.tenant_id === null);
}

/** Of the field itself, or of a part of it such as `events[0]`. */
function problemOf(problems: readonly FormProblem[], name: string): string | null {
  const found = problems.find(
    ({ field }) => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`),
  );
  return found?.message ?? null;
}

function useProfileNames(): readonly (readonly [string, string])[] {
  const { data } = useApi<{ readonly data: readonly { readonly name: string }[] }>(
    { path: "v1/profiles" },
    { everyMs: false },
  );
  return (data?.data ?? [{ name: "standard" }]).map(({ name }) => [name, name]);
}
