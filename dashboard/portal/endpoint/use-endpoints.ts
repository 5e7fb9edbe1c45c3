import { useApi } from "../../shared/queries.ts";
import type { Page, Webhook } from "../../shared/resources.ts";
import { may } from "../session.ts";

/** Endpoints for a selection, loaded once. Empty if the session may not read endpoints. */
export function useEndpoints(): readonly Webhook[] {
  const loaded = useApi<Page<Webhook>>(
    may("endpoints:read") ? { path: "v1/webhooks", query: { limit: 250 } } : null,
    { everyMs: false },
  );
  return loaded.data?.data ?? [];
}
