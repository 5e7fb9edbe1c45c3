import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { callApi, type Query } from "../../shared/api.ts";
import { useApi, useBusy } from "../../shared/queries.ts";
import type { Page } from "../../shared/resources.ts";
import type { ShellText } from "../../shared/shell-text.ts";
import { type Column, DataTable, type Selection } from "../../shared/ui/data-table.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { isFollowing, NewRows, useSettledRows } from "./new-rows.tsx";
import { type Peeking, PeekingRows, usePeeking } from "./side-panel.tsx";

interface ListProps<Row> {
  readonly title: string;
  /** Accessible name of the table. Defaults to the title. */
  readonly caption?: string;
  readonly path: string;
  readonly query?: Query;
  /** Null without an equivalent command. */
  readonly cli: ShellText | null;
  readonly columns: readonly Column<Row>[];
  /** Returns the key of a row. Defaults to its id. */
  readonly keyOf?: (row: Row) => string;
  /** Shown when the list is empty. */
  readonly none: ComponentChildren;
  readonly tools?: ComponentChildren;
  /** Set if the first cell of a row is not a link. */
  readonly hasNoLinks?: boolean;
}

/** Row selection across all pages of a list. */
interface RowSelection<Row> {
  /** Selection state for a table with these rows. */
  readonly of: (rows: readonly Row[]) => Selection;
  /** Deselects rows that no longer match the filter. */
  readonly drop: (ids: ReadonlySet<string>) => void;
}

export const pageSize = 50;

/** A paged API list as a table. */
export function ResourceList<Row>(
  props: ListProps<Row> & {
    readonly selection?: RowSelection<Row>;
    /** Set if the list only shows its first rows. */
    readonly isExcerpt?: boolean;
  },
) {
  const { title, caption = title, path, cli, tools, selection, isExcerpt = false } = props;
  const query = { limit: pageSize, ...props.query };
  const loaded = useApi<Page<Row>>({ path, query });
  const { data, isOld } = loaded;
  const rows = data?.data ?? [];
  return (
    <Panel title={title} loaded={loaded} tools={tools} twin={{ path, query, cli }}>
      <Rows {...props} {...{ caption, rows, isOld }} selected={selection?.of(isOld ? [] : rows)} />
      {data !== null && !isOld && !isExcerpt && data.next_cursor !== null && (
        <FurtherRows {...props} key={JSON.stringify(query)} query={query} first={data} />
      )}
    </Panel>
  );
}

/**
 * A paged API list whose rows do not move while the user reads them, with a side panel for the row in the URL. New rows
 * are added when the user requests them or has chosen to follow them.
 */
export function LiveList<Row extends { readonly id: string }>(
  props: ListProps<Row> & {
    readonly query: Query;
    readonly selection?: RowSelection<Row>;
    readonly panelOf: (id: string) => ComponentChildren;
  },
) {
  const { title, caption = title, path, query, cli, tools, selection, panelOf } = props;
  const peeking = usePeeking();
  const { peekedKey } = peeking;
  const loaded = useApi<Page<Row>>({ path, query });
  const { isOld } = loaded;
  const settled = useSettledRows(loaded, JSON.stringify(query), isFollowing.value);
  const { rows, matching, gone, waiting, merge, page, pageKey } = settled;
  useEffect(() => selection?.drop(gone), [gone]);
  return (
    <div class="list-and-panel" data-with-panel={peekedKey === null ? undefined : ""}>
      <Panel
        title={title}
        loaded={loaded}
        tools={
          <>
            <NewRows waiting={waiting} merge={merge} pageSize={pageSize} />
            {tools}
          </>
        }
        twin={{ path, query, cli }}
      >
        <PeekingRows>
          <Rows {...props} {...{ caption, rows, isOld, peeking }} selected={selection?.of(matching)} />
          {page !== null && !isOld && <FurtherRows {...props} key={pageKey} first={page} peeking={peeking} />}
        </PeekingRows>
      </Panel>
      {peekedKey !== null && panelOf(peekedKey)}
    </div>
  );
}

/** Rows as a table, or a placeholder if the list is empty. */
export function Rows<Row>(
  props: Pick<ListProps<Row>, "columns" | "keyOf" | "hasNoLinks" | "none"> & {
    readonly caption: string;
    readonly rows: readonly Row[];
    /** Whether the rows belong to the previous query because the current one is still loading. */
    readonly isOld?: boolean;
    readonly selected?: Selection | undefined;
    readonly peeking?: Peeking | undefined;
  },
) {
  const { caption, columns, rows, keyOf = idOf, hasNoLinks = false, none, isOld = false, selected } = props;
  if (rows.length > 0)
    return (
      <DataTable {...{ caption, columns, rows, keyOf, hasNoLinks }} selection={selected} {...props.peeking} />
    );
  if (isOld) return <p class="soft">Loading…</p>;
  return typeof none === "string" ? <p class="soft">{none}</p> : <>{none}</>;
}

function idOf(row: unknown): string {
  return (row as { readonly id: string }).id;
}

/** Pages after the first one. They are loaded on demand and not refreshed. */
function FurtherRows<Row>(
  props: ListProps<Row> & {
    readonly query: Query;
    readonly first: Page<Row>;
    readonly selection?: RowSelection<Row>;
    readonly peeking?: Peeking;
  },
) {
  const { title, caption = title, path, query, first, selection } = props;
  const rows = useSignal<readonly Row[]>([]);
  const last = useSignal<Page<Row> | null>(null);
  const { error, run } = useBusy();
  const end = last.value ?? first;
  const more = () =>
    run(async () => {
      const { value } = await callApi<Page<Row>>({ path, query: { ...query, cursor: end.next_cursor } });
      rows.value = [...rows.value, ...value.data];
      last.value = value;
    });
  return (
    <>
      <Rows
        {...props}
        caption={`${caption}, more rows`}
        rows={rows.value}
        selected={selection?.of(rows.value)}
        none={null}
      />
      {error.value !== null && <ErrorNote error={error.value} />}
      <SearchedTo end={end} more={more} />
    </>
  );
}

/** Shows how far back a time-limited search has got, with a button to continue. */
function SearchedTo({ end, more }: { readonly end: Page<unknown>; readonly more: () => Promise<void> }) {
  const { next_cursor, complete = true, searched_to = null } = end;
  return (
    <p class="table-end">
      {!complete && searched_to !== null && (
        <span class="soft">
          Searched back to <When at={searched_to} isExact />.
        </span>
      )}
      {!complete && searched_to === null && (
        <span class="soft">The time limit was reached while sorting. Unsorted rows are at the end.</span>
      )}
      {next_cursor !== null && (
        <button type="button" onClick={() => void more()}>
          {complete ? "Older" : "Continue search"}
        </button>
      )}
    </p>
  );
}
