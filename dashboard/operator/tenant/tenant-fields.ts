import { shell, type ShellText } from "../../shared/shell-text.ts";
import { changeCommand, type FormBody, type FormField } from "../form/form-fields.ts";

export const tenantFields: readonly FormField[] = [
  { name: "name", label: "Name", kind: "line" },
  {
    name: "rate_limit.requests_per_minute",
    label: "Requests per minute",
    kind: "number",
    hint: "Total for all webhooks of the tenant. Leave empty for no limit.",
    isForAdmins: true,
  },
  { name: "rate_limit.burst", label: "Burst size", kind: "number", isForAdmins: true },
  {
    name: "webhooks_max",
    label: "Maximum webhooks",
    kind: "number",
    hint: "Leave empty to use the default of the deployment.",
    isForAdmins: true,
  },
  {
    name: "worker_pool",
    label: "Worker pool",
    kind: "line",
    hint: "The worker pool that delivers for this tenant.",
    isForAdmins: true,
  },
];

/** Equivalent `posthorn tenants put` command. Null if its options cannot express the change. */
export function tenantCommand(id: string, body: FormBody["body"]): ShellText | null {
  return changeCommand(shell`tenants put ${id}`, body, {
    name: (name) => [["name", String(name)]],
    rate_limit: rateOptions,
    webhooks_max: (count) => (typeof count === "number" ? [["webhooks-max", String(count)]] : null),
    worker_pool: (pool) => [["worker-pool", String(pool)]],
  });
}

function rateOptions(value: unknown): readonly (readonly [string, string])[] {
  if (value === null) return [["rate-limit", "none"]];
  const { requests_per_minute: rate, burst } = value as {
    readonly requests_per_minute: number;
    readonly burst?: number;
  };
  return [["rate-limit", String(rate)], ...(burst === undefined ? [] : [["burst", String(burst)] as const])];
}
