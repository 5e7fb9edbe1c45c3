import type { Page } from "../../ports/store.ts";
import { type BatchOperation, newOperationDefaults } from "../../ports/store/operations.ts";

/** An operation as both stores select it. */
export type OperationRow = [tenant: string | null, document: string, revision: number];

/** Documents of older versions lack some fields, and do not raise their revision. */
export function readOperation([, document, revision]: OperationRow): BatchOperation {
  return { ...newOperationDefaults, ...(JSON.parse(document) as BatchOperation), revision };
}

/** The operation, if it belongs to this tenant or the caller sees all tenants. */
export function toOperation(row: OperationRow | undefined, tenantId: string | null): BatchOperation | null {
  if (row === undefined || (tenantId !== null && tenantId !== row[0])) return null;
  return readOperation(row);
}

/** One row more than the limit shows whether there is an older one. */
export function toOperationPage(
  rows: readonly (readonly [seq: number, ...row: OperationRow])[],
  limit: number,
): Page<BatchOperation> {
  const shown = rows.slice(0, limit);
  return {
    rows: shown.map(([, ...row]) => readOperation(row)),
    next: rows.length > limit ? (shown.at(-1)?.[0] ?? null) : null,
  };
}
