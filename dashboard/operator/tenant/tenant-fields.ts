/** The fields of the form for a tenant. */
import { shell, type ShellText } from "../../shared/shell-text.ts";
import { changeCommand } from "../form/change-command.ts";
import type { FormBody, FormField } from "../form/form-fields.ts";

export const tenantFields: readonly FormField[] = [
  { name: "name", label: "Name", kind: "line" },
  {
    name: "rate_limit.requests_per_minute",
    label: "Requests a minute at most",
    kind: "number",
    hint: "Over all its webhooks. No limit when left empty.",
    isForAdmins: true,
  },
  { name: "rate_limit.burst", label: "Requests at once", kind: "number", isForAdmins: true },
  {
    name: "webhooks_max",
    label: "Webhooks at most",
    kind: "number",
    hint: "What the deployment allows every tenant when left empty.",
    isForAdmins: true,
  },
  {
    name: "worker_pool",
    label: "Worker pool",
    kind: "line",
    hint: "The workers that serve it; default for those that serve all others.",
    isForAdmins: true,
  },
];

/** `posthorn tenants put` that changes the same; null where its options cannot say it. */
export function tenantCommand(id: string, body: FormBody["body"]): ShellText | null {
  return changeCommand(shell`tenants put ${id}`, {
    body,
    options: {
      name: (name) => [["name", String(name)]],
      rate_limit: rateOptions,
      webhooks_max: (count) => (typeof count === "number" ? [["webhooks-max", String(count)]] : null),
      worker_pool: (pool) => [["worker-pool", String(pool)]],
    },
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
