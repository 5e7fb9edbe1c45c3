import { useApi } from "../../shared/queries.ts";
import type { Page, Webhook } from "../../shared/resources.ts";
import { may } from "../session.ts";

/** Endpoints to choose among, as they were when the page was opened; none for a session that may not see them. */
export function useEndpoints(): readonly Webhook[] {
  const loaded = useApi<Page<Webhook>>(
    may("endpoints:read") ? { path: "v1/webhooks", query: { limit: 250 } } : null,
    { everyMs: false },
  );
  return loaded.data?.data ?? [];
}
