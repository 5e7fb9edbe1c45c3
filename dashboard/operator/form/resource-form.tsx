import { type ReadonlySignal, useSignal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useRef } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { type ApiCall, callApi, type Query } from "../../shared/api.ts";
import { refreshAll, useApi, useBusy } from "../../shared/queries.ts";
import { session } from "../../shared/session.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { type ApiTwin, AsApi } from "../../shared/ui/as-api.tsx";
import { ErrorNote, NotLoaded } from "../../shared/ui/error-note.tsx";
import { Trail } from "../shell/detail-page.tsx";
import { DescribedField } from "./described-field.tsx";
import {
  bodyOf,
  type FormBody,
  type FormField,
  type FormProblem,
  problemOf,
  type Typed,
  typedOf,
} from "./form-fields.ts";

/** Additional content of a form. It can show problems, set fields, and submit to a different endpoint. */
type FormPart = (form: {
  readonly problems: readonly FormProblem[];
  readonly typed: Typed;
  readonly type: (changed: Typed) => void;
  /** Submits the form. Problems reported by the server are shown at their fields. */
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
  readonly send: (body: FormBody["body"], typed: Typed) => Promise<void>;
  /** Equivalent API call, shown next to the button. */
  readonly twinOf?: ((body: FormBody["body"], typed: Typed) => ApiTwin) | undefined;
  /** Called on each input, for live previews. */
  readonly onTyped?: (typed: Typed) => void;
  /** Shown before the fields. */
  readonly lead?: FormPart;
  /** Returns problems in the additional parts. They are checked before the form is sent. */
  readonly problemsOfParts?: () => readonly FormProblem[];
  /** Shown after the fields that are not collapsed. */
  readonly middle?: FormPart;
  /** Shown before the button. */
  readonly children?: ComponentChildren;
}

/** Form for an API resource. Problems are shown at their fields. */
export function ResourceForm(props: ResourceFormProps) {
  const { fields, isNew, choices = {}, seldom, label, send, onTyped, children } = props;
  const { lead, middle, problemsOfParts } = props;
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
    <DescribedField
      key={field.name}
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
        const { body, problems: found } = bodyOf(fields, sent, before.current);
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

/** API call for the changes. Hidden while the form has problems or no changes. */
function Twin(
  props: Pick<ResourceFormProps, "fields" | "label" | "twinOf" | "before"> & { readonly typed: Typed },
) {
  const { fields, label, twinOf, before, typed } = props;
  if (twinOf === undefined) return null;
  const { body, problems } = bodyOf(fields, typed, before);
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

interface FormSending extends Omit<ReturnType<typeof useBusy>, "run"> {
  readonly form: RefObject<HTMLFormElement | null>;
  /** Problems found locally or by the server. */
  readonly problems: ReadonlySignal<readonly FormProblem[]>;
  readonly submit: (typed: FormBody, send: (body: FormBody["body"]) => Promise<void>) => Promise<void>;
}

/** Submits a form, shows problems at their fields, and focuses the first invalid field. */
export function useFormSending(): FormSending {
  const form = useRef<HTMLFormElement>(null);
  const problems = useSignal<readonly FormProblem[]>([]);
  const { error, isBusy, run } = useBusy();
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
    problems.value = [];
    await run(async () => {
      if (found.length === 0) await send(body);
    });
    if (found.length > 0) show(found);
    else if (error.value !== null) show(error.value.problem?.errors ?? []);
  };
  return { form, problems, error, isBusy, submit };
}

/** Sends the changes of a form, if any, and refreshes all data. */
export async function saveChanges(changed: object, call: ApiCall): Promise<void> {
  if (Object.keys(changed).length > 0) await callApi(call);
  announce("Saved");
  await refreshAll();
}

interface EditPageProps<T> extends Pick<ResourceFormProps, "fields" | "choices" | "seldom"> {
  readonly title: string;
  /** API path of the resource. */
  readonly path: string;
  readonly query?: Query;
  /** Path of the page that opens after saving. */
  readonly page: string;
  readonly nameOf: (resource: T) => string;
  /** Converts the resource to typed text. By default, converts the values of the fields. `text` is the raw response. */
  readonly typedOf?: (resource: T, text: string) => Typed;
  /** The call that sends the changed fields. Defaults to a PATCH. */
  readonly callOf?: (body: FormBody["body"], typed: Typed) => ApiTwin;
  /** Shows the call next to the button. */
  readonly hasTwin?: boolean;
}

/** Page that edits a resource in a form. */
export function EditPage<T extends object>(props: EditPageProps<T>) {
  const { title, path, query, page, nameOf, fields, hasTwin = false, ...form } = props;
  const { typedOf: typedBefore = (resource: T) => typedOf(fields, resource) } = props;
  const { callOf = (body) => ({ method: "PATCH", path, body, cli: null }) } = props;
  const { go } = useAddress();
  const { data, text, error } = useApi<T>(query === undefined ? { path } : { path, query }, {
    everyMs: false,
  });
  if (data === null) return <NotLoaded error={error} />;
  return (
    <>
      <Trail href={page}>{nameOf(data)}</Trail>
      <h1>{title}</h1>
      <ResourceForm
        {...form}
        fields={fields}
        before={typedBefore(data, text)}
        isNew={false}
        label="Save"
        send={async (body, typed) => {
          await saveChanges(body, callOf(body, typed));
          go(page);
        }}
        twinOf={hasTwin ? callOf : undefined}
      />
    </>
  );
}
