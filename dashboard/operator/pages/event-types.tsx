import { fieldText, type Row } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import type { Column } from "../../shared/ui/data-table.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ResourceList } from "../list-page.tsx";

const columns: readonly Column<Row>[] = [
  {
    title: "Name",
    cell: (row) => (
      <a
        href={`${pagePath(`event-types/${encodeURIComponent(fieldText(row, "name"))}`)}?tenant_id=${encodeURIComponent(fieldText(row, "tenant_id"))}`}
        class="row-link"
      >
        {fieldText(row, "name")}
      </a>
    ),
  },
  { title: "Description", cell: (row) => fieldText(row, "description"), isProse: true, needs: "medium" },
  { title: "Schema", cell: (row) => (row["schema"] === null ? "none" : "yes") },
  { title: "Tenant", cell: (row) => fieldText(row, "tenant_id"), needs: "medium" },
  { title: "Deprecated", cell: (row) => (row["deprecated"] === true ? "yes" : "no"), needs: "medium" },
  { title: "Changed", cell: (row) => <When at={fieldText(row, "updated_at")} />, isFigure: true },
];

export function EventTypesPage() {
  return (
    <>
      <h1>Event types</h1>
      <ResourceList<Row>
        title="Event types"
        path="v1/event-types"
        cli={shell`event-types list`}
        columns={columns}
        keyOf={(row) => `${fieldText(row, "tenant_id")} ${fieldText(row, "name")}`}
        none={
          <p class="soft">
            No event types are registered, so events of any type are accepted. Registered types can have a
            schema.
          </p>
        }
      />
    </>
  );
}
