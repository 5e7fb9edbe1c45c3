import type { RevisionEntry, TimelineEntry } from "../../shared/resources.ts";

/** Name of the key, and whether it was used through the dashboard. */
export function byText({ by }: Pick<TimelineEntry, "by">): string {
  if (by === null) return "Posthorn";
  const [kind, name, reference] = [by["kind"], by["key_name"], by["reference"]].map((value) =>
    typeof value === "string" ? value : "",
  );
  const through = kind === "dashboard_session" ? " (dashboard)" : "";
  const onBehalf = (reference ?? "") === "" ? "" : `, for ${reference}`;
  return `${(name ?? "") === "" ? kind?.replaceAll("_", " ") : name}${through}${onBehalf}`;
}

/**
 * A field that differs between two revisions. A value is undefined if the revision did not have the field, and for
 * secrets.
 */
export interface FieldDifference {
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

interface FieldChange {
  readonly from?: unknown;
  readonly to?: unknown;
}

/** Differences between two revisions. `entries` must contain every revision after `from` up to `to`. */
export function differencesOf(
  entries: readonly Pick<RevisionEntry, "revision" | "changes">[],
  { from, to }: { readonly from: number; readonly to: number },
): readonly FieldDifference[] {
  const found = new Map<string, FieldDifference>();
  const within = entries
    .filter(({ revision }) => revision > from && revision <= to)
    .toSorted((left, right) => left.revision - right.revision);
  for (const { changes } of within)
    for (const [field, value] of Object.entries(changes)) {
      const change = value as FieldChange;
      const before = found.has(field) ? found.get(field)?.before : change.from;
      found.set(field, { field, before, after: change.to });
    }
  return [...found.values()]
    .filter(({ before, after }) => !isSame(before, after) || before === undefined)
    .flatMap(membersOf);
}

/** Splits a difference in a group of settings into one for each field that differs. */
function membersOf(difference: FieldDifference): readonly FieldDifference[] {
  const { field, before, after } = difference;
  if (!isGroup(before) || !isGroup(after)) return [difference];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names]
    .filter((name) => !isSame(before[name], after[name]))
    .map((name) => ({ field: `${field}.${name}`, before: before[name], after: after[name] }));
}

function isGroup(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

export function valueText(value: unknown): string {
  if (value === undefined) return "–";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
