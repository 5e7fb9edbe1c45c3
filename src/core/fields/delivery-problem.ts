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

/** What people set on a problem. */
export const problemChangeFields = {
  muted: flag({ doc: "True keeps it out of sight while it lasts, false ends that." }),
  mutedUntil: nullable(
    timeOrDate({ doc: "With `muted`: when that ends by itself; without it somebody has to end it." }),
  ),
  muteReason: nullable(line({ lengthMin: 1, lengthMax: 255, doc: "With `muted`: for those who wonder." })),
  note: nullable(text({ lengthMin: 1, lengthMax: 2_000, doc: "What people know of it; null removes it." })),
} satisfies Fields;
