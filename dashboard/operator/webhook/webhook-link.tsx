import { useApi } from "../../shared/queries.ts";
import type { Webhook } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";

export type Health = Webhook["health"];

/** Text and colour of each health state. */
export const healthWords: Readonly<Record<Health, { readonly tone: Tone; readonly text: string }>> = {
  healthy: { tone: "good", text: "Healthy" },
  failing: { tone: "wait", text: "Failing" },
  circuit_open: { tone: "held", text: "Circuit open" },
  paused: { tone: "held", text: "Paused" },
  disabled: { tone: "off", text: "Disabled" },
  suspended: { tone: "bad", text: "Suspended" },
  unverified: { tone: "new", text: "Unverified" },
};

export const healthStates = Object.keys(healthWords) as readonly Health[];

export function WebhookBadge({ webhook }: { readonly webhook: Pick<Webhook, "health"> }) {
  return <Badge {...healthWords[webhook.health]} />;
}

/** Refresh interval. It is long because each link in a list makes its own call. */
const healthEveryMs = 60_000;

interface WebhookLinkProps {
  readonly id: string;
  /** Shown next to the link unless the webhook is healthy. Omit it if the health has a separate column. */
  readonly health?: Health | undefined;
  /** Null if the URL is unknown. In that case the link loads it. */
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

/** URL without the scheme, which is nearly always https. */
export function shortUrl(url: string | null): string {
  return (url ?? "").replace(/^https?:\/\//, "").replace(/\/$/, "");
}

const reasons: Readonly<Record<string, string>> = { owner: "manually" };

/** Display text of the reason why a webhook is not active. */
export function statusReasonText(reason: string | null): string {
  return reason === null ? "reason unknown" : (reasons[reason] ?? reason.replaceAll("_", " "));
}
