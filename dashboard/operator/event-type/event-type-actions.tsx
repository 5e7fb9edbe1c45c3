import { callApi } from "../../shared/api.ts";
import { shell } from "../../shared/shell-text.ts";
import { AsApi } from "../../shared/ui/as-api.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";
import type { EventTypePlace } from "./event-type-place.ts";

/** Edit and deprecate buttons. Hidden from keys that may not change event types. */
export function EventTypeActions(props: { readonly place: EventTypePlace; readonly isDeprecated: boolean }) {
  const { place, isDeprecated } = props;
  const { name, path, query, flags, editPage } = place;
  if (!mayManage()) return null;
  const label = isDeprecated ? "Undo deprecation" : "Deprecate";
  const twin = {
    method: "PUT",
    path,
    query,
    body: { deprecated: !isDeprecated },
    cli: shell`event-types put ${name}${flags} ${isDeprecated ? "--no-deprecated" : "--deprecated"}`,
  } as const;
  return (
    <div class="actions">
      <a class="button" href={editPage} data-command="Edit">
        Edit
      </a>
      <ActionButton
        label={label}
        run={() => callApi(twin)}
        done={isDeprecated ? "Deprecation undone" : "Deprecated"}
      />
      <AsApi what={label} twin={twin} />
    </div>
  );
}
