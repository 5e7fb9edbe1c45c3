import { useRoute } from "preact-iso";
import { useAddress } from "../../shared/address.ts";
import { memberText } from "../../shared/json/json-tokens.ts";
import { useApi } from "../../shared/queries.ts";
import { fieldText, type Row } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { Facts } from "../../shared/ui/data-table.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { TextView } from "../../shared/ui/text-view.tsx";
import { When } from "../../shared/ui/when.tsx";

export function EventTypePage() {
  const { params } = useRoute();
  const address = useAddress();
  const name = params["name"] ?? "";
  const path = `v1/event-types/${encodeURIComponent(name)}`;
  const query = { tenant_id: address.params.getAll("tenant_id") };
  const loaded = useApi<Row>({ path, query }, { everyMs: false });
  const { data, text } = loaded;
  const twin = { path, query, cli: `event-types get ${name}` };
  return (
    <>
      <p class="trail">
        <a href={pagePath("event-types")}>Event types</a>
      </p>
      <h1>{name}</h1>
      <Panel
        title="About this event type"
        loaded={loaded}
        tools={<a href={`${pagePath("deliveries")}?event_type=${encodeURIComponent(name)}`}>Deliveries</a>}
        twin={twin}
      >
        {data !== null && (
          <Facts
            rows={[
              ["Description", fieldText(data, "description") || "–"],
              ["Tenant", fieldText(data, "tenant_id")],
              ["Deprecated", data["deprecated"] === true ? "yes" : "no"],
              ["Changed", <When key="changed" at={fieldText(data, "updated_at")} isExact />],
            ]}
          />
        )}
      </Panel>
      {data !== null && data["schema"] !== null && (
        <Panel title="Schema" twin={twin}>
          <TextView text={memberText(text, { member: "schema" }) ?? ""} label="JSON Schema" />
        </Panel>
      )}
      {data !== null && Array.isArray(data["examples"]) && data["examples"].length > 0 && (
        <Panel title="Examples" twin={twin}>
          <TextView text={memberText(text, { member: "examples" }) ?? ""} label="Examples" />
        </Panel>
      )}
    </>
  );
}
