import { useApi } from "../../shared/queries.ts";
import type { Page, SourceType } from "../../shared/resources.ts";

/** Verification schemes of the server. */
export function useSourceTypes() {
  return useApi<Page<SourceType>>({ path: "v1/source-types", query: { limit: 100 } }, { everyMs: false });
}

export function useSourceType(type: string): SourceType | null {
  return useSourceTypes().data?.data.find((one) => one.type === type) ?? null;
}
