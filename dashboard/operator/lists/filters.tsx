/** Filters of lists, which are stored in the URL. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";

/** Text field for a URL parameter. Accepts comma-separated values unless `isOneText` is set. */
export function TextFilter(props: {
  readonly name: string;
  readonly label: string;
  readonly placeholder: string;
  readonly isOneText?: boolean;
}) {
  const { name, label, placeholder, isOneText = false } = props;
  const { params, set } = useAddress();
  const id = useId();
  return (
    <form
      class="field"
      onSubmit={(event) => {
        event.preventDefault();
        const text = new FormData(event.currentTarget).get(name);
        if (typeof text !== "string") return;
        const values = isOneText ? [text.trim()] : text.split(/[\s,]+/);
        const chosen = values.filter((one) => one !== "");
        if (chosen.join() !== params.getAll(name).join()) set({ [name]: chosen });
      }}
    >
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        key={params.getAll(name).join()}
        defaultValue={params.getAll(name).join(", ")}
        placeholder={placeholder}
        onBlur={({ currentTarget }) => currentTarget.form?.requestSubmit()}
      />
    </form>
  );
}

/** Chips for filters that were set by a link or a table cell. A click removes the filter. */
export function LinkedFilters({ names }: { readonly names: readonly string[] }) {
  const { params, set } = useAddress();
  const present = names.filter((name) => params.has(name));
  return (
    <>
      {present.map((name) => (
        <button key={name} type="button" class="chip chip-on" onClick={() => set({ [name]: [] })}>
          {name.replace("_id", "").replaceAll("_", " ")}: {shortened(params.getAll(name).join(", "))}
          <span aria-hidden="true"> ×</span>
          <span class="off-screen"> remove this filter</span>
        </button>
      ))}
    </>
  );
}

function shortened(text: string): string {
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}

/** A checkbox for each value of an address parameter. `children` are further filters. */
export function Chips<Value extends string>(props: {
  readonly name: string;
  readonly legend: string;
  readonly values: readonly Value[];
  readonly chosen: readonly string[];
  readonly textOf?: (value: Value) => string;
  readonly children?: ComponentChildren;
}) {
  const { name, legend, values, chosen, textOf = String, children } = props;
  const { set } = useAddress();
  return (
    <fieldset class="chips">
      <legend class="off-screen">{legend}</legend>
      {values.map((value) => (
        <Chip
          key={value}
          label={textOf(value)}
          isChecked={chosen.includes(value)}
          onChange={(isChecked) =>
            set({ [name]: isChecked ? [...chosen, value] : chosen.filter((one) => one !== value) })
          }
        />
      ))}
      {children}
    </fieldset>
  );
}

/** A checkbox for an address parameter that is `true` or missing. */
export function FlagChip({ name, label }: { readonly name: string; readonly label: string }) {
  const { params, set } = useAddress();
  return (
    <Chip
      label={label}
      isChecked={params.get(name) === "true"}
      onChange={(isChecked) => set({ [name]: isChecked ? ["true"] : [] })}
    />
  );
}

function Chip(props: {
  readonly label: string;
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
}) {
  const { label, isChecked, onChange } = props;
  return (
    <label class="chip">
      <input
        type="checkbox"
        checked={isChecked}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      {label}
    </label>
  );
}
