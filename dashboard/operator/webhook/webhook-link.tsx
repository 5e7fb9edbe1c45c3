import { useApi } from "../../shared/queries.ts";
import type { Webhook } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";

interface WebhookLinkProps {
  readonly id: string;
  /** Null where it is not known yet: it is looked up then. */
  readonly url: string | null;
}

export function WebhookLink({ id, url }: WebhookLinkProps) {
  return url === null ? <SoughtLink id={id} /> : <Link id={id} text={shortUrl(url)} />;
}

function SoughtLink({ id }: { readonly id: string }) {
  const found = useApi<Webhook>({ path: `v1/webhooks/${id}` }, { everyMs: false });
  return <Link id={id} text={shortUrl(found.data?.url ?? null)} />;
}

function Link({ id, text }: { readonly id: string; readonly text: string }) {
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
