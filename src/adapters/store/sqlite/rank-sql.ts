import { tierSpan } from "../rank.ts";

/** `rankIn` for a row that is stored already, where `ordered` is an SQL expression. */
export function rankSql(ordered: string): string {
  return `CASE WHEN ${ordered} THEN seq ELSE priority * ${tierSpan} + min(max(due_at, 0), ${tierSpan - 1}) END`;
}
