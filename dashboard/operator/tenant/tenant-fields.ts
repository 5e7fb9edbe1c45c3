/** The fields of the form for a tenant. */
import { changeCommand } from "../form/change-command.ts";
import type { FormBody, FormField, Typed } from "../form/form-fields.ts";

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
export function tenantCommand(
  id: string,
  { body, before }: { readonly body: FormBody["body"]; readonly before: Typed },
): string | null {
  return changeCommand(`tenants put ${id}`, {
    body,
    options: {
      name: ["--name", String],
      rate_limit: ["--rate-limit", (limit) => rateText(limit, before["rate_limit.burst"] ?? "")],
      webhooks_max: ["--webhooks-max", (count) => (typeof count === "number" ? String(count) : null)],
      worker_pool: ["--worker-pool", String],
    },
  });
}

/** The option leaves the burst as it was. */
function rateText(value: unknown, burstBefore: string): string | null {
  if (value === null) return "none";
  const limit = value as { readonly requests_per_minute: number; readonly burst?: number };
  return String(limit.burst ?? "") === burstBefore ? String(limit.requests_per_minute) : null;
}
