import { useApi } from "../../shared/queries.ts";
import type { Webhook } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { type Health, WebhookBadge } from "./webhook-badge.tsx";

/** Each webhook of a list is a call. */
const healthEveryMs = 60_000;

interface WebhookLinkProps {
  readonly id: string;
  /** Shown beside the link unless it is healthy. Left out where a state stands in its own column. */
  readonly health?: Health | undefined;
  /** Null where it is not known yet: it is looked up then. */
  readonly url: string | null;
}

export function WebhookLink({ id, url, health }: WebhookLinkProps) {
  return url === null ? <SoughtLink id={id} /> : <Link id={id} text={shortUrl(url)} health={health} />;
}

function SoughtLink({ id }: { readonly id: string }) {
  const found = useApi<Webhook>({ path: `v1/webhooks/${id}` }, { everyMs: healthEveryMs });
  return <Link id={id} text={shortUrl(found.data?.url ?? null)} health={found.data?.health} />;
}

interface LinkProps {
  readonly id: string;
  readonly text: string;
  readonly health: Health | undefined;
}

function Link({ id, text, health = "healthy" }: LinkProps) {
  return (
    <>
      <a href={pagePath(`webhooks/${id}`)} title={text} class="webhook-link">
        {text === "" ? `${id.slice(0, 13)}…` : text}
      </a>
      {health !== "healthy" && (
        <>
          {" "}
          <WebhookBadge webhook={{ health }} />
        </>
      )}
    </>
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
