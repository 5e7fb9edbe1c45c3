/** A bulk action on deliveries, as an API call. */
import { shell, shellOptions, type ShellText, shellWords } from "../../shared/shell-text.ts";
import { flagsOf } from "../lists/command-flags.ts";

export interface BulkAction {
  /** Button label. */
  readonly label: string;
  readonly path: string;
  /** Equivalent CLI command. */
  readonly command: ShellText;
  /** Whether the priority of the deliveries can be changed. */
  readonly hasPriority: boolean;
  /** Conditions that are added to the filter of the list. */
  readonly filter?: Readonly<Record<string, unknown>>;
  /** Irreversible actions always require typed confirmation. */
  readonly isFinal: boolean;
}

export const retryAction: BulkAction = {
  label: "Retry",
  path: "v1/deliveries/retry-batch",
  command: shell`deliveries retry`,
  hasPriority: true,
  isFinal: false,
};

/** Restricts the general retry route to dead letters. */
export const retryDeadLettersAction: BulkAction = { ...retryAction, filter: { status: ["exhausted"] } };

export const cancelAction: BulkAction = {
  label: "Cancel",
  path: "v1/deliveries/cancel-batch",
  command: shell`deliveries cancel`,
  hasPriority: false,
  isFinal: false,
};

export const discardAction: BulkAction = {
  label: "Discard",
  path: "v1/dlq/discard-batch",
  command: shell`dlq discard`,
  hasPriority: false,
  isFinal: true,
};

/** The target: delivery ids, or all deliveries that match the filter of a list. */
export type BulkTarget =
  | { readonly ids: readonly string[] }
  | { readonly filter: Readonly<Record<string, unknown>> };

/** Request body without the rate. */
export function bodyOf({ filter }: BulkAction, target: BulkTarget): object {
  return "ids" in target || filter === undefined ? target : { filter: { ...target.filter, ...filter } };
}

interface BulkChoice {
  readonly perSecond: number;
  /** Null keeps the priority of each delivery. */
  readonly priority: string | null;
  /** Whether to close open circuits first. */
  readonly closesCircuits: boolean;
}

/** Request body that starts the action. */
export function startOf(
  action: BulkAction,
  target: BulkTarget,
  { perSecond, priority, closesCircuits }: BulkChoice,
): object {
  return {
    ...bodyOf(action, target),
    rate_limit: { requests_per_second: perSecond },
    ...(priority !== null && { priority }),
    ...(closesCircuits && { close_circuits: true }),
  };
}

/** Equivalent CLI command, without `posthorn`. */
export function commandOf(
  action: BulkAction,
  target: BulkTarget,
  { perSecond, priority, closesCircuits }: BulkChoice,
): ShellText {
  const chosen = bodyOf(action, target);
  const what =
    "ids" in target
      ? shellWords(target.ids)
      : flagsOf("filter" in chosen ? (chosen.filter as object as Record<string, unknown>) : {});
  const how = shellOptions([
    ["rate", String(perSecond)],
    ...(priority === null ? [] : [["priority", priority] as const]),
  ]);
  if (closesCircuits) return shell`${action.command}${what}${how} --close-circuits --yes --watch`;
  return shell`${action.command}${what}${how} --yes --watch`;
}

/** Filter of a list, as the query parameters of its API route. */
type ListFilter = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

const oneText = new Set(["event_id", "tenant_id", "error", "idempotency_key", "from", "to"]);

/**
 * Converts the filter of a list to the body format of a bulk action. An open range ends at `nowMs`, so that the preview
 * and the action cover the same deliveries.
 */
export function targetOf(query: ListFilter, nowMs: number): BulkTarget {
  const filter: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(query)) {
    if (name === "order" || value === undefined || value === null) continue;
    const values = Array.isArray(value) ? (value as readonly string[]) : [String(value)];
    const [first] = values;
    if (first === undefined) continue;
    if (name === "attempt_min") filter[name] = Number(first);
    else filter[name] = oneText.has(name) ? first : values;
  }
  filter["to"] ??= new Date(nowMs).toISOString();
  return { filter };
}

/** Above this count, the user types the number to confirm. */
const typedAbove = 10_000;

/** Text the user must type to confirm. Null if a click is enough. */
export function phraseFor(
  action: BulkAction,
  counted: { readonly count: number; readonly count_is_exact: boolean },
): string | null {
  const isMany = counted.count > typedAbove || !counted.count_is_exact;
  return action.isFinal || isMany ? `${action.label.toLowerCase()} ${counted.count}` : null;
}
