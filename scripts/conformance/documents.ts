// The requirements of the source documents, and what is said about those that no test proves.

import { cewRows } from "../../test/requirements/cew.ts";
import { edsRows } from "../../test/requirements/eds.ts";
import { idkRows } from "../../test/requirements/idk.ts";
import type { RequirementRow } from "../../test/requirements/row.ts";
import { ts16Rows } from "../../test/requirements/ts16.ts";
import { wdsApiRows } from "../../test/requirements/wds-api.ts";
import { wdsRows } from "../../test/requirements/wds.ts";
import { wdsOperationRows } from "../../test/requirements/wds-operation.ts";
import { wdsServiceRows } from "../../test/requirements/wds-services.ts";

export interface SourceDocument {
  readonly code: string;
  readonly title: string;
  readonly note: string;
  readonly rows: readonly RequirementRow[];
}

export const documents: readonly SourceDocument[] = [
  {
    code: "EDS",
    title: "Event Delivery Semantics",
    note: "Internet-Draft draft-mayankpanke-event-delivery-semantics-01.",
    rows: edsRows,
  },
  {
    code: "TS16",
    title: "TS-16a: Webhooks",
    note: "A technical standard; an extended subset of Standard Webhooks.",
    rows: ts16Rows,
  },
  {
    code: "IDK",
    title: "The Idempotency-Key HTTP Header Field",
    note: "Internet-Draft draft-ietf-httpapi-idempotency-key-header-06.",
    rows: idkRows,
  },
  {
    code: "CEW",
    title: "CloudEvents: HTTP 1.1 Web Hooks for Event Delivery",
    note: "Version 1.0.3-wip.",
    rows: cewRows,
  },
  {
    code: "WDS",
    title: "Webhook Delivery System with Retries",
    note: "A design, every sentence of which is a row.",
    rows: [...wdsServiceRows, ...wdsApiRows, ...wdsRows, ...wdsOperationRows].toSorted(
      (a, b) => numberOf(a) - numberOf(b),
    ),
  },
];

/** Rows of the design are counted through. */
function numberOf({ id }: RequirementRow): number {
  return Number(id.slice("WDS-".length));
}
