import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { bodyOf, problemOf, type FormField, type FormProblem, type Typed } from "../form/form-fields.ts";
import { FormInput } from "../form/form-input.tsx";
import { useFormSending } from "../form/use-form-sending.ts";
import { connectionFields, filterExamples, filterField } from "./connection-fields.ts";

interface ConnectionFormProps {
  readonly before: Typed;
  readonly label: string;
  readonly send: (body: Readonly<Record<string, unknown>>) => Promise<void>;
  /** Fields of its ends, where they can be chosen, and what is wrong with them. */
  readonly ends?: (problems: readonly FormProblem[]) => ComponentChildren;
  readonly endProblems?: () => readonly FormProblem[];
}

/** Name, filter and weight of a connection. */
export function ConnectionForm(props: ConnectionFormProps) {
  const { label, send, ends, endProblems } = props;
  const id = useId();
  const before = useRef(props.before).current;
  const typed = useSignal<Typed>(before);
  const { form, problems, error, isBusy, submit } = useFormSending();
  const inputOf = (field: FormField) => (
    <FormInput
      key={field.name}
      id={`${id}-${field.name}`}
      field={field}
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
        const { body, problems: found } = bodyOf(connectionFields, { typed: typed.value, before });
        void submit({ body, problems: [...(endProblems?.() ?? []), ...found] }, send);
      }}
    >
      {ends?.(problems.value)}
      {connectionFields.filter(({ isSeldom = false }) => !isSeldom).map(inputOf)}
      <FilterExamples typed={typed} />
      <details>
        <summary>Delay, repeats, retries</summary>
        <div class="form">{connectionFields.filter(({ isSeldom = false }) => isSeldom).map(inputOf)}</div>
      </details>
      {error.value !== null && <ErrorNote error={error.value} />}
      <button type="submit" class="primary" disabled={isBusy.value}>
        {label}
      </button>
    </form>
  );
}

/** Puts one of them into the field, to be changed there. */
function FilterExamples({ typed }: { readonly typed: Signal<Typed> }) {
  return (
    <details>
      <summary>Examples of filters</summary>
      <p class="soft">
        A filter looks at <code>body</code>, <code>headers</code>, <code>query</code> and <code>path</code>,
        with <code>$eq $neq $in $nin $gt $gte $lt $lte $startsWith $endsWith $exist $and $or $not</code>. What
        it leaves out is in the log of requests, with the rule that did it.
      </p>
      <ul class="examples">
        {filterExamples.map(([what, filter]) => (
          <li key={what}>
            <button
              type="button"
              onClick={() =>
                (typed.value = { ...typed.value, [filterField.name]: JSON.stringify(filter, null, 2) })
              }
            >
              {what}
            </button>{" "}
            <code>{JSON.stringify(filter)}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}
