import { useApi } from "../../shared/queries.ts";
import type { Source } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";

/** Link with the name of the source, or with part of its id if it does not exist. */
export function SourceLink({ id }: { readonly id: string }) {
  const { data } = useApi<Source>({ path: `v1/sources/${id}` }, { everyMs: false });
  return <a href={pagePath(`sources/${id}`)}>{data?.id === id ? data.name : `${id.slice(0, 13)}…`}</a>;
}
