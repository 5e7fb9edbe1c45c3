import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { System } from "../../shared/resources.ts";
import type { ApiTwin } from "../../shared/ui/as-api.tsx";
import { DataTable, type Column } from "../../shared/ui/data-table.tsx";
import { Panel } from "../../shared/ui/panel.tsx";

type Setting = System["settings"][number];

const columns: readonly Column<Setting>[] = [
  { title: "Setting", cell: ({ name }) => <code>{name}</code> },
  {
    title: "Value",
    cell: ({ value }) => (value === "" ? <span class="soft">–</span> : <code>{value}</code>),
  },
  {
    title: "Source",
    cell: ({ source, from }) =>
      source === null || source === "default" ? (
        <span class="soft">{source ?? "built-in"}</span>
      ) : (
        <>
          {source} {from !== null && <code>{from}</code>}
        </>
      ),
  },
];

/** Effective settings with their sources. The server masks secrets. */
export function SettingsTable(props: { readonly settings: readonly Setting[]; readonly twin: ApiTwin }) {
  const { settings, twin } = props;
  const text = useSignal("");
  const isChangedOnly = useSignal(false);
  const id = useId();
  const rows = settings.filter(
    ({ name, source }) =>
      name.toLowerCase().includes(text.value.trim().toLowerCase()) &&
      !(isChangedOnly.value && (source === "default" || source === null)),
  );
  return (
    <Panel title="Settings" twin={twin}>
      <div class="fields">
        <div class="field">
          <label for={id}>Name contains</label>
          <input
            id={id}
            value={text.value}
            onInput={({ currentTarget }) => (text.value = currentTarget.value)}
          />
        </div>
        <label>
          <input
            type="checkbox"
            checked={isChangedOnly.value}
            onChange={({ currentTarget }) => (isChangedOnly.value = currentTarget.checked)}
          />{" "}
          hide defaults
        </label>
      </div>
      {rows.length === 0 ? (
        <p class="soft">No matching settings.</p>
      ) : (
        <DataTable caption="Settings" columns={columns} rows={rows} keyOf={({ name }) => name} hasNoLinks />
      )}
    </Panel>
  );
}
