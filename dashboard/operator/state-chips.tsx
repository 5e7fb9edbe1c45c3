import type { ComponentChildren } from "preact";
import { useAddress } from "../shared/address.ts";

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
