import { parseLossless } from "../../core/json/lossless.ts";
import {
  defaultWorkerPool,
  type EventType,
  type EventTypePage,
  type EventTypeQuery,
  type Tenant,
} from "../../ports/store/registry.ts";

/** A tenant as it was saved, also by a version that knew no pools of workers. */
export function toTenant(document: string): Tenant {
  return { workerPool: defaultWorkerPool, ...(parseLossless(document) as Omit<Tenant, "workerPool">) };
}

/** A document as both stores select it, perhaps with more behind it. */
export type DocumentRow = readonly [document: string, ...more: unknown[]];

/** What was saved as `Document` comes back as one. */
export function toDocument<Document>([document]: DocumentRow): Document {
  return parseLossless(document) as Document;
}

/** What `after` is compared with when a listing begins: no tenant and no name is before it. */
export function startOf({ after }: EventTypeQuery): readonly [tenantId: string, name: string] {
  return after === null ? ["", ""] : [after.tenantId, after.name];
}

export function toEventTypePage(documents: readonly string[], hasMore: boolean): EventTypePage {
  const rows = documents.map((document) => parseLossless(document) as EventType);
  const last = rows.at(-1);
  const next = hasMore && last !== undefined ? { tenantId: last.tenantId, name: last.name } : null;
  return { rows, next };
}
