import { useRoute } from "preact-iso";
import { useAddress } from "../../shared/address.ts";
import { pagePath } from "../../shared/root.ts";
import { shellOptions, type ShellText } from "../../shared/shell-text.ts";

/** Event type in the address. Several tenants may have one with the same name. */
export interface EventTypePlace {
  readonly name: string;
  /** API path. */
  readonly path: string;
  readonly query: { readonly tenant_id: readonly string[] };
  /** CLI options. */
  readonly flags: ShellText;
  /** Dashboard paths. */
  readonly page: string;
  readonly editPage: string;
}

export function useEventTypePlace(): EventTypePlace {
  const { params } = useRoute();
  const address = useAddress();
  const name = params["name"] ?? "";
  const encoded = encodeURIComponent(name);
  const tenantIds = address.params.getAll("tenant_id");
  const [tenantId] = tenantIds;
  const search = tenantId === undefined ? "" : `?tenant_id=${encodeURIComponent(tenantId)}`;
  return {
    name,
    path: `v1/event-types/${encoded}`,
    query: { tenant_id: tenantIds },
    flags: shellOptions(tenantId === undefined ? [] : [["tenant", tenantId]]),
    page: `${pagePath(`event-types/${encoded}`)}${search}`,
    editPage: `${pagePath(`event-types/${encoded}/edit`)}${search}`,
  };
}
