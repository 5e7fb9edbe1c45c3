import { type ReadonlySignal, useSignal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useId, useRef } from "preact/hooks";
import { type ApiCall, ApiError, callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import { session } from "../../shared/session.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { type ApiTwin, AsApi } from "../../shared/ui/as-api.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { FormInput } from "./field.tsx";
import {
  bodyOf,
  type FormBody,
  type FormField,
  type FormProblem,
  problemOf,
  type Typed,
} from "./form-fields.ts";

/** Content between the fields. It can show problems, set fields, and submit to another endpoint. */
type FormPart = (form: {
  readonly problems: readonly FormProblem[];
  readonly typed: Typed;
  readonly type: (changed: Typed) => void;
  /** Problems from the server are shown at their fields. */
  readonly submit: FormSending["submit"];
}) => ComponentChildren;

export interface ResourceFormProps {
  readonly fields: readonly FormField[];
  readonly before: Typed;
  /** Whether the form creates a resource. */
  readonly isNew: boolean;
  /** Choices that are loaded from the server, by field name. */
  readonly choices?: Readonly<Record<string, FormField["choices"]>>;
  /** Summary of the collapsed fields, if any. */
  readonly seldom?: string;
  readonly label: string;
  /** Sends the changed fields. */
  readonly send: (body: Readonly<Record<string, unknown>>, typed: Typed) => Promise<void>;
  /** Equivalent API call, shown next to the button. */
  readonly twinOf?: (body: Readonly<Record<string, unknown>>, typed: Typed) => ApiTwin;
  /** Called on each input, for live previews. */
  readonly onTyped?: (typed: Typed) => void;
  /** Shown before the fields. */
  readonly lead?: FormPart;
  /** Problems in the other parts, checked before sending. */
  readonly problemsOfParts?: () => readonly FormProblem[];
  /** Shown after the fields that are not collapsed. */
  readonly middle?: FormPart;
  /** Shown before the button. */
  readonly children?: ComponentChildren;
}

/** Form for an API resource that shows problems at their fields. */
export function ResourceForm(props: ResourceFormProps) {
  const { fields, isNew, choices = {}, seldom, label, send, onTyped, children } = props;
  const { lead, middle, problemsOfParts } = props;
  const id = useId();
  /** Last known values on the server. */
  const before = useRef(props.before);
  const typed = useSignal<Typed>(props.before);
  const { form, problems, error, isBusy, submit } = useFormSending();
  const type = (changed: Typed) => {
    typed.value = { ...typed.value, ...changed };
    onTyped?.(typed.value);
  };
  const part = { problems: problems.value, typed: typed.value, type, submit };
  const shown = fields.filter((field) => isFor(field, { isNew }));
  const inputOf = (field: FormField) => (
    <FormInput
      key={field.name}
      id={`${id}-${field.name}`}
      field={withChoices(field, choices[field.name])}
      text={typed.value[field.name] ?? ""}
      problem={problemOf(problems.value, field.name)}
      change={(text) => type({ [field.name]: text })}
    />
  );
  return (
    <form
      ref={form}
      class="form panel"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const sent = typed.value;
        const { body, problems: found } = bodyOf(fields, { typed: sent, before: before.current });
        void submit({ body, problems: [...(problemsOfParts?.() ?? []), ...found] }, async (changed) => {
          await send(changed, sent);
          before.current = sent;
        });
      }}
    >
      {lead?.(part)}
      {shown.filter(({ isSeldom = false }) => !isSeldom).map(inputOf)}
      {middle?.(part)}
      {seldom !== undefined && (
        <details>
          <summary>{seldom}</summary>
          <div class="form">{shown.filter(({ isSeldom = false }) => isSeldom).map(inputOf)}</div>
        </details>
      )}
      {children}
      {error.value !== null && <ErrorNote error={error.value} />}
      <div class="actions">
        <button type="submit" class="primary" disabled={isBusy.value}>
          {label}
        </button>
        <Twin {...props} before={before.current} typed={typed.value} />
      </div>
    </form>
  );
}

/** API call for the changes. Hidden while there are problems or no changes. */
function Twin(
  props: Pick<ResourceFormProps, "fields" | "label" | "twinOf" | "before"> & { readonly typed: Typed },
) {
  const { fields, label, twinOf, before, typed } = props;
  if (twinOf === undefined) return null;
  const { body, problems } = bodyOf(fields, { typed, before });
  if (problems.length > 0 || Object.keys(body).length === 0) return null;
  return <AsApi what={label} twin={twinOf(body, typed)} />;
}

function withChoices(field: FormField, choices: FormField["choices"]): FormField {
  return choices === undefined ? field : { ...field, choices };
}

function isFor(field: FormField, { isNew }: { readonly isNew: boolean }): boolean {
  const { isForCreation = false, isForAdmins = false } = field;
  return (isNew || !isForCreation) && (!isForAdmins || session.value?.tenant_id === null);
}

interface FormSending {
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

/** Sends the changes of a form, if any, and refreshes all data. */
export async function saveChanges(changed: object, call: ApiCall): Promise<void> {
  if (Object.keys(changed).length > 0) await callApi(call);
  announce("Saved");
  await refreshAll();
}
