/** Fields of forms: a label, a control, and a note that explains the value or says what is wrong with it. */
import type { Signal } from "@preact/signals";
import type { ComponentChildren, ComponentProps } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  readonly label: ComponentChildren;
  /** Below the control. */
  readonly note?: ComponentChildren;
  /** Whether the note describes a problem. */
  readonly isWrong?: boolean | undefined;
  /** A problem, shown below the note. */
  readonly problem?: string | null | undefined;
  /** Reads the note aloud when it changes. */
  readonly isLive?: boolean | undefined;
}

/** Attributes of a control for text. */
interface TextAttributes {
  readonly autocomplete?: "off";
  readonly dir?: "ltr";
  readonly inputMode?: "email" | "numeric" | "url";
  readonly maxLength?: number;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly spellcheck?: boolean;
}

interface InputAttributes extends TextAttributes {
  readonly type?: "number" | "password" | "search" | "text" | "time" | "url";
  readonly min?: string;
  readonly max?: string;
  readonly step?: string;
}

/** Attributes that connect a control with its label and note. */
interface ControlAttributes {
  readonly "id": string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean;
}

/** A field with any control. */
export function Field(
  props: FieldProps & { readonly children: (control: ControlAttributes) => ComponentChildren },
) {
  const { label, note, isWrong = false, isLive = false, problem = null, children } = props;
  const id = useId();
  const noteId = note === undefined ? undefined : `${id}-note`;
  const problemId = problem === null ? undefined : `${id}-problem`;
  const describedBy = [noteId, problemId].filter(Boolean).join(" ") || undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": describedBy, "aria-invalid": isWrong || problem !== null })}
      {noteId !== undefined && (
        <p id={noteId} role={isLive ? "status" : undefined} class={isWrong ? "bad-text" : "soft"}>
          {note}
        </p>
      )}
      {problemId !== undefined && (
        <p id={problemId} class="bad-text">
          {problem}
        </p>
      )}
    </div>
  );
}

/** One line of text, or another `type` of input. */
export function TextField(props: FieldProps & InputAttributes & { readonly value: Signal<string> }) {
  const { label, note, isWrong, isLive, problem, value, type = "text", ...attributes } = props;
  return (
    <Field {...{ label, note, isWrong, isLive, problem }}>
      {(control) => (
        <input
          {...({ ...control, ...attributes, type } as ComponentProps<"input">)}
          value={value.value}
          onInput={({ currentTarget }) => (value.value = currentTarget.value)}
        />
      )}
    </Field>
  );
}

export function TextAreaField(
  props: FieldProps & TextAttributes & { readonly value: Signal<string>; readonly rows?: number },
) {
  const { label, note, isWrong, isLive, value, ...attributes } = props;
  return (
    <Field {...{ label, note, isWrong, isLive }}>
      {(control) => (
        <textarea
          {...control}
          {...attributes}
          value={value.value}
          onInput={({ currentTarget }) => (value.value = currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** `options` are values with their labels. The first one is shown while `value` is not one of them. */
export function SelectField(
  props: FieldProps & {
    readonly value: Signal<string>;
    readonly options: readonly (readonly [value: string, text: string])[];
  },
) {
  const { label, note, problem, value, options } = props;
  const isOffered = options.some(([name]) => name === value.value);
  return (
    <Field {...{ label, note, problem }}>
      {(control) => (
        <select
          {...control}
          value={isOffered ? value.value : options[0]?.[0]}
          onChange={({ currentTarget }) => (value.value = currentTarget.value)}
        >
          {options.map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** One checkbox with its label. */
export function CheckBox(props: {
  readonly label: ComponentChildren;
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
}) {
  return (
    <label>
      <input
        type="checkbox"
        checked={props.isChecked}
        onChange={({ currentTarget }) => props.onChange(currentTarget.checked)}
      />
      {props.label}
    </label>
  );
}

/** A checkbox for each option. Values in the list that are not among the options are kept. */
export function CheckBoxes(props: {
  readonly value: Signal<readonly string[]>;
  readonly options: readonly (readonly [value: string, text: ComponentChildren])[];
}) {
  const { value, options } = props;
  return (
    <>
      {options.map(([name, text]) => (
        <CheckBox
          key={name}
          label={text}
          isChecked={value.value.includes(name)}
          onChange={(isChecked) => {
            const others = value.value.filter((one) => one !== name);
            value.value = isChecked ? [...others, name] : others;
          }}
        />
      ))}
    </>
  );
}
