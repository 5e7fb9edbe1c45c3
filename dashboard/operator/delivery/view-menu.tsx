import { useId } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { isCompact, toggleDensity } from "../../shared/preferences.ts";
import { Icon } from "../../shared/ui/icon.tsx";
import { Popover } from "../../shared/ui/modal.tsx";
import { deliveryColumns } from "./delivery-columns.tsx";

/** Column selection and row density. */
export function ViewMenu() {
  const { params, set } = useAddress();
  const id = useId();
  const chosen = params.getAll("columns");
  const isShown = (name: string, isUsual: boolean) =>
    chosen.length === 0 ? isUsual : chosen.includes(name) || name === "event_type";
  const toggle = (toggled: string) =>
    set({
      columns: deliveryColumns
        .filter(({ name, isUsual = false }) => isShown(name, isUsual) !== (name === toggled))
        .map(({ name }) => name),
    });
  return (
    <div>
      <button type="button" popovertarget={id} class="quiet view-button">
        <Icon name="columns" /> View
      </button>
      <Popover id={id} label="View">
        {() => (
          <>
            <fieldset class="columns">
              <legend>Columns</legend>
              {deliveryColumns.map(({ name, title, isUsual = false }) => (
                <label key={name}>
                  <input
                    type="checkbox"
                    checked={isShown(name, isUsual)}
                    disabled={name === "event_type"}
                    onChange={() => toggle(name)}
                  />
                  {title}
                </label>
              ))}
            </fieldset>
            <p class="view-end">
              <label>
                <input type="checkbox" checked={isCompact.value} onChange={toggleDensity} /> Compact rows
              </label>
              <button type="button" onClick={() => set({ columns: [] })}>
                Default columns
              </button>
            </p>
          </>
        )}
      </Popover>
    </div>
  );
}
