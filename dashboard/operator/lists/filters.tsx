/** Filters of lists. They are stored in the address. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";

/** Text field for an address parameter. Takes comma-separated values unless `isOneText` is set. */
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

/** State filter of a list, stored in the address. `children` are further filters. */
export function StateChips(props: {
  readonly states: readonly string[];
  readonly chosen: readonly string[];
  readonly children: ComponentChildren;
}) {
  const { states, chosen, children } = props;
  const { set } = useAddress();
  const toggle = (state: string) =>
    set({ state: chosen.includes(state) ? chosen.filter((one) => one !== state) : [...chosen, state] });
  return (
    <div class="filters">
      <fieldset class="chips">
        <legend class="off-screen">State</legend>
        {states.map((state) => (
          <label key={state} class="chip">
            <input type="checkbox" checked={chosen.includes(state)} onChange={() => toggle(state)} /> {state}
          </label>
        ))}
        {children}
      </fieldset>
    </div>
  );
}
