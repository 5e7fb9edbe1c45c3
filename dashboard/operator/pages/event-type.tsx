import { firstItemText, memberText } from "../../shared/json-tokens.ts";
import { useApi } from "../../shared/queries.ts";
import { fieldText, type Row } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { Facts } from "../../shared/ui/data-table.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { TextView } from "../../shared/ui/text-view.tsx";
import { When } from "../../shared/ui/when.tsx";
import { EventTypeActions } from "../event-type/event-type-actions.tsx";
import { useEventTypePlace } from "../event-type/event-type-place.ts";
import { EventTypeVolume, Subscribers } from "../event-type/traffic-of-type.tsx";
import { PublishExample } from "../event/publish-copy.tsx";
import { usualRange } from "../statistics-range.ts";

/** Raw text of the first example. */
function exampleOf(text: string): string {
  return firstItemText(memberText(text, { member: "examples" }) ?? "") ?? "{}";
}

export function EventTypePage() {
  const place = useEventTypePlace();
  const { name, path, query, flags } = place;
  const loaded = useApi<Row>({ path, query }, { everyMs: false });
  const { data, text } = loaded;
  const twin = { path, query, cli: shell`event-types get ${name}${flags}` };
  return (
    <>
      <p class="trail">
        <a href={pagePath("event-types")}>Event types</a>
      </p>
      <PageHead title={name}>
        <RangePicker fallback={usualRange} />
      </PageHead>
      <Panel
        title="About this event type"
        loaded={loaded}
        tools={
          <>
            <PublishExample name={name} example={exampleOf(text)} tenantIds={query.tenant_id} />
            <a href={`${pagePath("deliveries")}?event_type=${encodeURIComponent(name)}`}>Deliveries</a>
          </>
        }
        twin={twin}
      >
        {data !== null && (
          <>
            <Facts
              rows={[
                ["Description", fieldText(data, "description") || "–"],
                ["Tenant", fieldText(data, "tenant_id")],
                ["Deprecated", data["deprecated"] === true ? "yes" : "no"],
                ["Changed", <When key="changed" at={fieldText(data, "updated_at")} isExact />],
              ]}
            />
            <EventTypeActions place={place} isDeprecated={data["deprecated"] === true} />
          </>
        )}
      </Panel>
      <EventTypeVolume name={name} query={query} />
      <Subscribers name={name} query={query} />
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
