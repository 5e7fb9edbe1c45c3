/** The panel next to a list, and the row that it shows. */
import type { ComponentChildren } from "preact";
import { useAddress } from "../../shared/address.ts";
import { useApi } from "../../shared/queries.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { AsApi } from "../../shared/ui/as-api.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { IconButton } from "../../shared/ui/icon.tsx";

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
          <IconButton icon="close" label="Close panel" shortcut="Escape" onClick={close} />
        </div>
      </header>
      {error !== null && <ErrorNote error={error} since={loadedAt} />}
      {data !== null && data.id === id && children(data)}
    </aside>
  );
}

/** The row shown in the side panel, as stored in the URL. */
export interface Peeking {
  readonly peekedKey: string | null;
  readonly peek: (key: string) => void;
}

export function usePeeking(): Peeking {
  const { params, set } = useAddress();
  const peekedKey = params.get("panel");
  const peek = (key: string) => set({ panel: [key] }, peekedKey === null ? "push" : "replace");
  return { peekedKey, peek };
}

/** Wraps a list, so that the side panel follows the focused row. */
export function PeekingRows({ children }: { readonly children: ComponentChildren }) {
  const { peekedKey, peek } = usePeeking();
  return (
    <div
      onFocusCapture={({ target }) => {
        const key =
          target instanceof Element ? target.closest<HTMLElement>("tr[data-row]")?.dataset["row"] : undefined;
        if (peekedKey !== null && key !== undefined && key !== peekedKey) peek(key);
      }}
    >
      {children}
    </div>
  );
}

/** Returns a function that closes the panel and returns the focus to its row. */
function useClosePanel(key: string): () => void {
  const { set } = useAddress();
  return () => {
    set({ panel: [] });
    document.querySelector<HTMLElement>(`tr[data-row="${key}"] th a`)?.focus();
  };
}
