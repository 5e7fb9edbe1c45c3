import type { Json } from "./api-client.ts";
import type { OptionValues } from "./client-command.ts";

/** Applies the list filters to streamed rows. */
export function deliveryFilter(options: OptionValues): (row: Json) => boolean {
  const isOneOf = (option: string, field: string) => {
    const wanted = options.list(option);
    return (row: Json) => wanted === undefined || wanted.includes(String(row[field]));
  };
  const types = options.list("type");
  const statuses = options.list("httpStatus");
  const attemptMin = options.number("attemptsMin") ?? 0;
  const errorText = options.text("error")?.toLowerCase();
  const tests: readonly ((row: Json) => boolean)[] = [
    (row) => types === undefined || types.some((wanted) => matchesType(wanted, String(row["event_type"]))),
    isOneOf("status", "status"),
    isOneOf("category", "failure_category"),
    isOneOf("waitingFor", "waiting_for"),
    isOneOf("origin", "origin"),
    isOneOf("webhook", "webhook_id"),
    isOneOf("tenant", "tenant_id"),
    (row) =>
      statuses === undefined || statuses.some((one) => matchesStatus(one, row["last_http_status_code"])),
    (row) => Number(row["attempt_count"] ?? 0) >= attemptMin,
    (row) => errorText === undefined || JSON.stringify(row).toLowerCase().includes(errorText),
  ];
  return (row) => tests.every((test) => test(row));
}

/** `order.*` matches all types below `order`, `*` matches all types. */
function matchesType(wanted: string, type: string): boolean {
  if (wanted === "*") return true;
  return wanted.endsWith(".*") ? type.startsWith(wanted.slice(0, -1)) : type === wanted;
}

/** `422`, `5xx`, or `none` for no response. */
function matchesStatus(wanted: string, status: unknown): boolean {
  if (wanted === "none") return typeof status !== "number";
  return wanted.endsWith("xx") ? String(status).startsWith(wanted.charAt(0)) : String(status) === wanted;
}
