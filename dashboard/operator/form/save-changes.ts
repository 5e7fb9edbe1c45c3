import { type ApiCall, callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import { announce } from "../../shared/ui/announcer.tsx";

/** Sends what of a form has changed, where anything has, and reads everything again. */
export async function saveChanges(changed: object, call: ApiCall): Promise<void> {
  if (Object.keys(changed).length > 0) await callApi(call);
  announce("Saved");
  await refreshAll();
}
