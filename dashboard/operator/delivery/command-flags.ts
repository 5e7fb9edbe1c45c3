/** Filters of a list as options of the command line. */
import { shellOptions, type ShellText } from "../../shared/shell-text.ts";

const names: Readonly<Record<string, string>> = {
  event_type: "type",
  failure_category: "category",
  webhook_id: "webhook",
  event_id: "event",
  tenant_id: "tenant",
  attempt_min: "attempts-min",
};

/** The options of `posthorn deliveries list`, and of what is done to many, for the same. */
export function flagsOf(query: Readonly<Record<string, unknown>>): ShellText {
  return shellOptions(
    Object.entries(query).flatMap(([name, value]) =>
      (Array.isArray(value) ? (value as readonly unknown[]) : [value]).map(
        (one) =>
          [(names[name] ?? name).replaceAll("_", "-"), String(one) === "true" ? null : String(one)] as const,
      ),
    ),
  );
}
