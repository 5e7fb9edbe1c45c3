import { tierSpan } from "../queue-position.ts";

/** `queuePositionIn` for a stored row, where `ordered` is an SQL expression. */
export function queuePositionSql(ordered: string): string {
  return `CASE WHEN ${ordered} THEN coalesce(order_position, seq) ELSE priority * ${tierSpan} + min(max(due_at, 0), ${tierSpan - 1}) END`;
}
