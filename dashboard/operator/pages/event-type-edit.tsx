import { useAddress } from "../../shared/address.ts";
import { useApi } from "../../shared/queries.ts";
import type { Row } from "../../shared/resources.ts";
import { shell } from "../../shared/shell-text.ts";
import type { ApiTwin } from "../../shared/ui/as-api.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { saveChanges } from "../form/save-changes.ts";
import { eventTypeFields, eventTypeOptions, typedEventType } from "../event-type/event-type-fields.ts";
import { useEventTypePlace } from "../event-type/event-type-place.ts";
import { changeCommand } from "../form/change-command.ts";
import { bodyTextOf, type FormBody, type Typed } from "../form/form-fields.ts";
import { ResourceForm } from "../form/resource-form.tsx";

export function EditEventTypePage() {
  const { name, path, query, flags, page } = useEventTypePlace();
  const { go } = useAddress();
  const { data, text, error } = useApi<Row>({ path, query }, { everyMs: false });
  if (data === null) return <NotLoaded error={error} />;
  const callOf = (body: FormBody["body"], typed: Typed): ApiTwin => ({
    method: "PUT",
    path,
    query,
    bodyText: bodyTextOf(eventTypeFields, { body, typed }),
    cli: changeCommand(shell`event-types put ${name}${flags}`, { body, options: eventTypeOptions }),
  });
  const send = async (body: FormBody["body"], typed: Typed) => {
    await saveChanges(body, callOf(body, typed));
    go(page);
  };
  return (
    <>
      <p class="trail">
        <a href={page}>{name}</a>
      </p>
      <h1>Edit event type</h1>
      <ResourceForm
        fields={eventTypeFields}
        before={typedEventType(data, text)}
        isNew={false}
        label="Save"
        send={send}
        twinOf={callOf}
      />
    </>
  );
}
