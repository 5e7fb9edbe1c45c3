import { priorities, type Priority } from "../../core/delivery.ts";
import type { Backlog } from "../../ports/store/history.ts";
import { decode, priorityCodes } from "./codes.ts";

/** Waiting deliveries of one priority, as both stores select them. */
export type BacklogRow = [priority: number, count: number, oldestCreatedAt: number];

/** Several rows may belong to one priority. */
export function backlogOf(rows: readonly BacklogRow[], isMore: boolean): Backlog {
  const waiting = Object.fromEntries(priorities.map((priority) => [priority, 0])) as Record<Priority, number>;
  let oldestCreatedAt: number | null = null;
  for (const [code, count, createdAt] of rows) {
    waiting[decode(priorityCodes, code)] += count;
    oldestCreatedAt = Math.min(oldestCreatedAt ?? createdAt, createdAt);
  }
  return { waiting, isMore, oldestCreatedAt };
}
