import { parseLossless } from "../../core/json/lossless.ts";
import {
  defaultWorkerPool,
  type EventType,
  type EventTypePage,
  type EventTypeQuery,
  type Tenant,
} from "../../ports/store/registry.ts";

/** Parses a saved tenant, including one saved by a version without worker pools. */
export function toTenant(document: string): Tenant {
  return { workerPool: defaultWorkerPool, ...(parseLossless(document) as Omit<Tenant, "workerPool">) };
}

/** A document as both stores select it, possibly followed by more columns. */
export type DocumentRow = readonly [document: string, ...more: unknown[]];

/** Parses a document that was saved as `Document`. */
export function toDocument<Document>([document]: DocumentRow): Document {
  return parseLossless(document) as Document;
}

/** The start for `after` in a listing: sorts before every tenant and name. */
export function startOf({ after }: EventTypeQuery): readonly [tenantId: string, name: string] {
  return after === null ? ["", ""] : [after.tenantId, after.name];
}

export function toEventTypePage(documents: readonly string[], hasMore: boolean): EventTypePage {
  const rows = documents.map((document) => parseLossless(document) as EventType);
  const last = rows.at(-1);
  const next = hasMore && last !== undefined ? { tenantId: last.tenantId, name: last.name } : null;
  return { rows, next };
}
