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
