import { CheckBox, Field } from "../../shared/ui/field.tsx";
import type { FormField } from "./form-fields.ts";

/** The control of a form field, with its hint and problem as description. */
export function DescribedField(props: {
  readonly field: FormField;
  readonly text: string;
  /** Null if the field is valid. */
  readonly problem: string | null;
  readonly change: (text: string) => void;
}) {
  const { field, text, problem, change } = props;
  const { label, hint, kind, choices = [], rows = 3 } = field;
  if (kind === "flag")
    return (
      <CheckBox
        label={label}
        isChecked={text === "true"}
        onChange={(isChecked) => change(String(isChecked))}
      />
    );
  const onInput = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
    change(currentTarget.value);
  return (
    <Field label={label} note={hint} problem={problem === null ? null : `${label} ${problem}.`}>
      {(control) => {
        if (kind === "choice")
          return (
            <select {...control} value={text} onChange={onInput}>
              {choices.map(([value, name]) => (
                <option key={value} value={value}>
                  {name}
                </option>
              ))}
            </select>
          );
        const typed = { ...control, value: text, onInput, spellcheck: kind === "text" };
        if (kind === "text" || kind === "headers" || kind === "json")
          return <textarea {...typed} rows={rows} />;
        if (kind === "secret") return <input {...typed} type="password" autocomplete="off" />;
        return <input {...typed} inputMode={kind === "number" ? "numeric" : "text"} autocomplete="off" />;
      }}
    </Field>
  );
}
