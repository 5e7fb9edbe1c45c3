import { useSignal } from "@preact/signals";
import { byteSize } from "../../shared/bytes.ts";
import { now } from "../../shared/clock.ts";
import { counted, shortSpan } from "../../shared/format.ts";
import { useApi } from "../../shared/queries.ts";
import type { System } from "../../shared/resources.ts";
import { shell } from "../../shared/shell-text.ts";
import type { ApiTwin } from "../../shared/ui/as-api.tsx";
import { Badge } from "../../shared/ui/badge.tsx";
import { type Column, DataTable, Facts } from "../../shared/ui/data-table.tsx";
import { CheckBox, TextField } from "../../shared/ui/field.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { column } from "../lists/columns.tsx";
import { Rows } from "../lists/list-page.tsx";

const twin = { path: "v1/system", cli: shell`system` };

export function SystemPage() {
  const loaded = useApi<System>({ path: "v1/system" });
  const { data } = loaded;
  return (
    <>
      <h1>System</h1>
      <Panel title="This process" loaded={loaded} twin={twin}>
        {data !== null && <ThisProcess system={data} />}
      </Panel>
      {data !== null && (
        <>
          <Panel title="Workers" twin={twin}>
            <Workers pools={data.worker_pools} />
          </Panel>
          <Panel title="Storage and services" twin={twin}>
            <Companions system={data} />
          </Panel>
          <SettingsTable settings={data.settings} twin={twin} />
        </>
      )}
    </>
  );
}

function ThisProcess({ system }: { readonly system: System }) {
  const { ready, reasons, version, roles, started_at } = system;
  return (
    <>
      <p class="health">
        <Badge tone={ready ? "good" : "bad"} text={ready ? "Ready" : "Not ready"} />
        {reasons.map((reason) => (
          <code key={reason}>{reason}</code>
        ))}
      </p>
      <Facts
        rows={[
          ["Version", version],
          ["Roles", roles.join(", ")],
          ["Uptime", shortSpan(now.value - Date.parse(started_at))],
          ["Started", <When at={started_at} isExact />],
        ]}
      />
    </>
  );
}

type Pool = NonNullable<System["worker_pools"]>[number];

const poolColumns: readonly Column<Pool>[] = [
  column.text("Pool", ({ name }) => <strong>{name}</strong>),
  column.text("State", ({ workers }) => (
    <Badge tone={workers > 0 ? "good" : "bad"} text={workers > 0 ? "serving" : "no workers"} />
  )),
  column.figure("Workers", ({ workers }) => workers),
];

function Workers({ pools }: { readonly pools: readonly Pool[] | null }) {
  if (pools === null) return <p class="soft">Unavailable: the database did not respond.</p>;
  if (pools.length === 0) return <p>No workers are running. Nothing is delivered until one starts.</p>;
  return (
    <DataTable
      caption="Worker pools"
      columns={poolColumns}
      rows={pools}
      keyOf={({ name }) => name}
      hasNoLinks
    />
  );
}

function Companions({ system }: { readonly system: System }) {
  const { store, queue, shared_state: shared, retention } = system;
  const size = store.size_bytes === null ? "unavailable" : byteSize(store.size_bytes);
  return (
    <Facts
      rows={[
        ["Store", store.kind === "sqlite" ? "SQLite" : "PostgreSQL"],
        ["Size on disk", size],
        ["Schema", store.schema_version ?? "unavailable"],
        ["Queue", <Companion text={queue.kind === "store" ? "the store" : "RabbitMQ"} is={queue} />],
        [
          "Shared state",
          <Companion text={shared.kind === "process" ? "this process" : "Redis"} is={shared} />,
        ],
        ["Payload retention", counted(retention.payload_days, "day", "days")],
        ["History retention", counted(retention.history_days, "day", "days")],
      ]}
    />
  );
}

function Companion({ text, is }: { readonly text: string; readonly is: { readonly available: boolean } }) {
  return (
    <>
      {text} <Badge tone={is.available ? "good" : "bad"} text={is.available ? "available" : "unavailable"} />
    </>
  );
}

type Setting = System["settings"][number];

const settingColumns: readonly Column<Setting>[] = [
  column.text("Setting", ({ name }) => <code>{name}</code>),
  column.text("Value", ({ value }) => (value === "" ? <span class="soft">–</span> : <code>{value}</code>)),
  column.text("Source", ({ source, from }) =>
    source === null || source === "default" ? (
      <span class="soft">{source ?? "built-in"}</span>
    ) : (
      <>
        {source} {from !== null && <code>{from}</code>}
      </>
    ),
  ),
];

/** Effective settings with their sources. The server masks secrets. */
function SettingsTable(props: { readonly settings: readonly Setting[]; readonly twin: ApiTwin }) {
  const { settings, twin } = props;
  const text = useSignal("");
  const isChangedOnly = useSignal(false);
  const rows = settings.filter(
    ({ name, source }) =>
      name.toLowerCase().includes(text.value.trim().toLowerCase()) &&
      !(isChangedOnly.value && (source === "default" || source === null)),
  );
  return (
    <Panel title="Settings" twin={twin}>
      <div class="fields">
        <TextField label="Name contains" value={text} />
        <CheckBox
          label="hide defaults"
          isChecked={isChangedOnly.value}
          onChange={(isChecked) => (isChangedOnly.value = isChecked)}
        />
      </div>
      <Rows
        caption="Settings"
        columns={settingColumns}
        rows={rows}
        keyOf={({ name }) => name}
        hasNoLinks
        none="No matching settings."
      />
    </Panel>
  );
}
