/** What can be done to many deliveries, as calls of the API. */
import { shell, shellOptions, type ShellText, shellWords } from "../../shared/shell-text.ts";
import { flagsOf } from "../delivery/command-flags.ts";

export interface BulkAction {
  /** Of the button that begins it. */
  readonly label: string;
  readonly path: string;
  /** The same on the command line. */
  readonly command: ShellText;
  /** Whether what it makes may have another priority. */
  readonly hasPriority: boolean;
  /** Narrows a filter besides what the list was narrowed to. */
  readonly filter?: Readonly<Record<string, unknown>>;
  /** It cannot be taken back, so it is always confirmed by typing. */
  readonly isFinal: boolean;
}

export const retryAction: BulkAction = {
  label: "Retry",
  path: "v1/deliveries/retry-batch",
  command: shell`deliveries retry`,
  hasPriority: true,
  isFinal: false,
};

/** What a list of dead letters holds, for a route that takes all deliveries. */
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

/** What is acted on: those named, or all that match the filter of a list. */
export type BulkTarget =
  | { readonly ids: readonly string[] }
  | { readonly filter: Readonly<Record<string, unknown>> };

/** The body of a call, without its rate. */
export function bodyOf({ filter }: BulkAction, target: BulkTarget): object {
  return "ids" in target || filter === undefined ? target : { filter: { ...target.filter, ...filter } };
}

/** What somebody chose for it. */
export interface BulkChoice {
  readonly perSecond: number;
  /** Null keeps that of each delivery. */
  readonly priority: string | null;
  /** Open circuits are closed first. */
  readonly closesCircuits: boolean;
}

/** The call that begins it. */
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

/** The same as a command, without `posthorn`. */
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

/** What a list is narrowed to, as the query of its route. */
type ListFilter = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

const oneText = new Set(["event_id", "tenant_id", "error", "idempotency_key", "from", "to"]);

/**
 * The filter of a list as the body of a bulk action takes it. Its end is `nowMs` where the list is open, so that what is
 * counted, shown and done is the same.
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

/** Above so many a person types how many there are. */
const typedAbove = 10_000;

/** What has to be typed before it begins; null where a click is enough. */
export function phraseFor(
  action: BulkAction,
  counted: { readonly count: number; readonly count_is_exact: boolean },
): string | null {
  const isMany = counted.count > typedAbove || !counted.count_is_exact;
  return action.isFinal || isMany ? `${action.label.toLowerCase()} ${counted.count}` : null;
}
