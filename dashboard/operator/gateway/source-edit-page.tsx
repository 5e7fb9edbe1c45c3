import { useRoute } from "preact-iso";
import { useAddress } from "../../shared/address.ts";
import { useApi } from "../../shared/queries.ts";
import type { Source } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { saveChanges } from "../form/save-changes.ts";
import { typedOf } from "../form/form-fields.ts";
import { ResourceForm } from "../form/resource-form.tsx";
import { sourceFields } from "./source-fields.ts";

export function EditSourcePage() {
  const { params } = useRoute();
  const { go } = useAddress();
  const id = params["id"] ?? "";
  const path = `v1/sources/${id}`;
  const { data, error } = useApi<Source>({ path }, { everyMs: false });
  if (data === null) return <NotLoaded error={error} />;
  const send = async (body: object) => {
    await saveChanges(body, { method: "PATCH", path, body });
    go(pagePath(`sources/${id}`));
  };
  return (
    <>
      <p class="trail">
        <a href={pagePath(`sources/${id}`)}>{data.name}</a>
      </p>
      <h1>Edit source</h1>
      <ResourceForm
        fields={sourceFields}
        before={typedOf(sourceFields, data)}
        isNew={false}
        seldom="Event types, deduplication, limits, responses"
        label="Save"
        send={send}
      />
    </>
  );
}
