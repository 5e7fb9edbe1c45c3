import { problemStates } from "../delivery-problems/delivery-problem.ts";
import { choice, flag, id, line, list, nullable, text, timeOrDate } from "./field.ts";
import type { Fields } from "./field.ts";
import { tenantIdField } from "./names.ts";

const severally = "May be repeated.";

export const problemFilters = {
  states: list(choice(problemStates), { countMax: 100, api: "state", doc: severally }),
  webhookIds: list(id(), { countMax: 100, api: "webhook_id", doc: severally }),
  tenantId: tenantIdField,
} satisfies Fields;

/** What people can set on a problem. */
export const problemChangeFields = {
  muted: flag({ doc: "True mutes the problem and hides it from the default list; false ends the mute." }),
  mutedUntil: nullable(
    timeOrDate({ doc: "With `muted`: when the mute ends; without it, the mute lasts until it is removed." }),
  ),
  muteReason: nullable(line({ lengthMin: 1, lengthMax: 255, doc: "With `muted`: reason for readers." })),
  note: nullable(text({ lengthMin: 1, lengthMax: 2_000, doc: "A note on the problem; null removes it." })),
} satisfies Fields;
