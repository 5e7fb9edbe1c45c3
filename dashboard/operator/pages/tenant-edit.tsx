import { useRoute } from "preact-iso";
import { useAddress } from "../../shared/address.ts";
import { useApi } from "../../shared/queries.ts";
import { fieldText, type Row } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import type { ApiTwin } from "../../shared/ui/as-api.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { saveChanges } from "../form/save-changes.ts";
import { type FormBody, typedOf } from "../form/form-fields.ts";
import { ResourceForm } from "../form/resource-form.tsx";
import { tenantCommand, tenantFields } from "../tenant/tenant-fields.ts";

export function EditTenantPage() {
  const { params } = useRoute();
  const { go } = useAddress();
  const id = params["id"] ?? "";
  const path = `v1/tenants/${encodeURIComponent(id)}`;
  const page = pagePath(`tenants/${encodeURIComponent(id)}`);
  const { data, error } = useApi<Row>({ path }, { everyMs: false });
  if (data === null) return <NotLoaded error={error} />;
  const before = typedOf(tenantFields, data);
  const callOf = (body: FormBody["body"]): ApiTwin => ({
    method: "PUT",
    path,
    body,
    cli: tenantCommand(id, body),
  });
  const send = async (body: FormBody["body"]) => {
    await saveChanges(body, callOf(body));
    go(page);
  };
  return (
    <>
      <p class="trail">
        <a href={page}>{fieldText(data, "name") || id}</a>
      </p>
      <h1>Edit tenant</h1>
      <ResourceForm
        fields={tenantFields}
        before={before}
        isNew={false}
        label="Save"
        send={send}
        twinOf={callOf}
      />
    </>
  );
}
