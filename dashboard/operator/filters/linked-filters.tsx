import { useAddress } from "../../shared/address.ts";

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
