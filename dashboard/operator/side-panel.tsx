import type { ComponentChildren } from "preact";
import { useApi } from "../shared/queries.ts";
import { pagePath } from "../shared/root.ts";
import { shell } from "../shared/shell-text.ts";
import { AsApi } from "../shared/ui/as-api.tsx";
import { ErrorNote } from "../shared/ui/error-note.tsx";
import { Icon } from "../shared/ui/icon.tsx";
import { useClosePanel } from "./peeking.tsx";

interface SidePanelProps<T> {
  /** What a row is called, such as "Delivery". */
  readonly what: string;
  /** Name of the collection in the API, the CLI and the dashboard. */
  readonly collection: "deliveries" | "requests";
  readonly id: string;
  readonly nameOf: (data: T) => string;
  readonly children: (data: T) => ComponentChildren;
}

/** Panel next to a list with the details of one row, a link to its page, and a close button. */
export function SidePanel<T extends { readonly id: string }>(props: SidePanelProps<T>) {
  const { what, collection, id, nameOf, children } = props;
  const close = useClosePanel(id);
  const path = `v1/${collection}/${id}`;
  const { data, error, loadedAt } = useApi<T>({ path });
  return (
    <aside class="side-panel" aria-label={`${what} panel`}>
      <header class="panel-head">
        <h2>{data === null ? what : nameOf(data)}</h2>
        <div class="panel-tools">
          <a href={pagePath(`${collection}/${id}`)}>Open full page</a>
          <AsApi what={what} twin={{ path, cli: shell`${collection} get ${id}` }} />
          <button
            type="button"
            class="quiet icon-button"
            aria-label="Close panel"
            data-key="Escape"
            onClick={close}
          >
            <Icon name="close" />
          </button>
        </div>
      </header>
      {error !== null && <ErrorNote error={error} since={loadedAt} />}
      {data !== null && data.id === id && children(data)}
    </aside>
  );
}
