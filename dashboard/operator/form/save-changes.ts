import { type ApiCall, callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import { announce } from "../../shared/ui/announcer.tsx";

/** Sends the changes of a form, if any, and refreshes all data. */
export async function saveChanges(changed: object, call: ApiCall): Promise<void> {
  if (Object.keys(changed).length > 0) await callApi(call);
  announce("Saved");
  await refreshAll();
}
