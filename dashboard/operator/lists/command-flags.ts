/** CLI options for the filters of a list. */
import { shellOptions, type ShellText } from "../../shared/shell-text.ts";

const names: Readonly<Record<string, string>> = {
  event_type: "type",
  failure_category: "category",
  webhook_id: "webhook",
  event_id: "event",
  tenant_id: "tenant",
  attempt_min: "attempts-min",
};

/** Equivalent options of `posthorn deliveries list` and of the bulk commands. */
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
