import type { Page } from "../../ports/store.ts";
import type { BatchOperation } from "../../ports/store/operations.ts";

/** An operation as both stores select it. */
export type OperationRow = [tenant: string | null, document: string];

/** Whether it needs no process any more. */
export function isFinished({ status }: BatchOperation): boolean {
  return status !== "pending" && status !== "running";
}

/** The operation, for those who may see it: its own tenant, and whoever sees all. */
export function toOperation(
  row: OperationRow | undefined,
  { tenantId }: { readonly tenantId: string | null },
): BatchOperation | null {
  if (row === undefined || (tenantId !== null && tenantId !== row[0])) return null;
  return JSON.parse(row[1]) as BatchOperation;
}

/** One row more than asked for tells whether there is an older one. */
export function toOperationPage(
  rows: readonly (readonly [seq: number, document: string])[],
  { limit }: { readonly limit: number },
): Page<BatchOperation> {
  const shown = rows.slice(0, limit);
  return {
    rows: shown.map(([, document]) => JSON.parse(document) as BatchOperation),
    next: rows.length > limit ? (shown.at(-1)?.[0] ?? null) : null,
  };
}
