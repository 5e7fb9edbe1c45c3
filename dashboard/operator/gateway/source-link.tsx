import { useApi } from "../../shared/queries.ts";
import type { Source } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";

/** The name of a source, which leads to it; a part of the id where it is gone. */
export function SourceLink({ id }: { readonly id: string }) {
  const { data } = useApi<Source>({ path: `v1/sources/${id}` }, { everyMs: false });
  return <a href={pagePath(`sources/${id}`)}>{data?.id === id ? data.name : `${id.slice(0, 13)}…`}</a>;
}
