import { useApi } from "../../shared/queries.ts";
import type { Webhook } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";

interface WebhookLinkProps {
  readonly id: string;
  /** Null where it is not known yet: it is looked up then. */
  readonly url: string | null;
}

export function WebhookLink({ id, url }: WebhookLinkProps) {
  const found = useApi<Webhook>(url === null ? { path: `v1/webhooks/${id}` } : null, { everyMs: false });
  const text = shortUrl(url ?? found.data?.url ?? null);
  return (
    <a href={pagePath(`webhooks/${id}`)} title={text}>
      {text === "" ? `${id.slice(0, 13)}…` : text}
    </a>
  );
}

/** Without the scheme, which is https nearly always. */
export function shortUrl(url: string | null): string {
  return (url ?? "").replace(/^https?:\/\//, "").replace(/\/$/, "");
}

const reasons: Readonly<Record<string, string>> = { owner: "by hand" };

/** Why a webhook is not active, in words. */
export function statusReasonText(reason: string | null): string {
  return reason === null ? "no reason is known" : (reasons[reason] ?? reason.replaceAll("_", " "));
}
