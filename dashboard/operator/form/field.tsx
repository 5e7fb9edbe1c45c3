import type { FormField } from "./form-fields.ts";

interface FormInputProps {
  readonly id: string;
  readonly field: FormField;
  readonly text: string;
  /** Null if the field is valid. */
  readonly problem: string | null;
  readonly change: (text: string) => void;
}

/** One field with label, hint and problem. */
export function FormInput(props: FormInputProps) {
  const { id, field, problem } = props;
  const { label, hint = "", kind } = field;
  if (kind === "flag") return <Flag {...props} />;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Control {...props} />
      <p id={`${id}-hint`} class="soft">
        {hint}
      </p>
      {problem !== null && (
        <p id={`${id}-problem`} class="bad-text">
          {label} {problem}.
        </p>
      )}
    </div>
  );
}

function Control({ id, field, text, problem, change }: FormInputProps) {
  const { kind, choices = [], rows = 3 } = field;
  const common = {
    id,
    "aria-describedby": `${id}-hint${problem === null ? "" : ` ${id}-problem`}`,
    "aria-invalid": problem !== null,
    "value": text,
  };
  if (kind === "choice") {
    return (
      <select {...common} onChange={({ currentTarget }) => change(currentTarget.value)}>
        {choices.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    );
  }
  if (kind === "text" || kind === "headers" || kind === "json") {
    return (
      <textarea
        {...common}
        rows={rows}
        spellcheck={kind === "text"}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
    );
  }
  const typed = {
    ...common,
    autocomplete: "off",
    spellcheck: false,
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => change(currentTarget.value),
  } as const;
  if (kind === "secret") return <input {...typed} type="password" />;
  return <input {...typed} inputMode={kind === "number" ? "numeric" : "text"} />;
}

function Flag({ id, field, text, change }: FormInputProps) {
  return (
    <label for={id}>
      <input
        id={id}
        type="checkbox"
        checked={text === "true"}
        onChange={({ currentTarget }) => change(String(currentTarget.checked))}
      />
      {field.label}
    </label>
  );
}
