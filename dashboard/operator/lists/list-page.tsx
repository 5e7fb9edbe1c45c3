import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { ApiError, callApi, type Query } from "../../shared/api.ts";
import { useApi } from "../../shared/queries.ts";
import type { Page } from "../../shared/resources.ts";
import type { ShellText } from "../../shared/shell-text.ts";
import { type Column, DataTable, type Selection } from "../../shared/ui/data-table.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import type { Peeking } from "./side-panel.tsx";

interface ListProps<Row> {
  readonly title: string;
  readonly path: string;
  readonly query?: Query;
  /** Null without an equivalent command. */
  readonly cli: ShellText | null;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  /** Shown when the list is empty. */
  readonly none: ComponentChildren;
  readonly tools?: ComponentChildren;
  /** Set if the first cell of a row is not a link. */
  readonly hasNoLinks?: boolean;
  /** Set if rows can be selected. */
  readonly selectionOf?: (rows: readonly Row[]) => Selection;
  /** Poll interval for data that the live stream does not cover. */
  readonly everyMs?: number;
}

export const pageSize = 50;

/** A paged API list as a table. */
export function ResourceList<Row>(props: ListProps<Row>) {
  const { title, path, cli, columns, keyOf, none, tools, selectionOf, hasNoLinks = false } = props;
  const query = { limit: pageSize, ...props.query };
  const loaded = useApi<Page<Row>>(
    { path, query },
    props.everyMs === undefined ? {} : { everyMs: props.everyMs },
  );
  const rows = loaded.data?.data ?? [];
  const cursor = loaded.data?.next_cursor ?? null;
  return (
    <Panel title={title} loaded={loaded} tools={tools} twin={{ path, query, cli }}>
      {rows.length === 0 && loaded.isOld && <p class="soft">Loading…</p>}
      {rows.length === 0 && !loaded.isOld && none}
      {rows.length > 0 && (
        <DataTable
          caption={title}
          columns={columns}
          rows={rows}
          keyOf={keyOf}
          hasNoLinks={hasNoLinks}
          {...selecting(selectionOf, loaded.isOld ? [] : rows)}
        />
      )}
      {loaded.data !== null && !loaded.isOld && cursor !== null && (
        <FurtherRows
          key={JSON.stringify(query)}
          {...{ title, path, query, columns, keyOf, hasNoLinks, first: loaded.data }}
          {...(selectionOf !== undefined && { selectionOf })}
        />
      )}
    </Panel>
  );
}

function selecting<Row>(selectionOf: ListProps<Row>["selectionOf"], rows: readonly Row[]) {
  return selectionOf !== undefined && { selection: selectionOf(rows) };
}

/** Pages after the first one. They are loaded on demand and not refreshed. */
export function FurtherRows<Row>(
  props: Pick<ListProps<Row>, "title" | "path" | "columns" | "keyOf" | "selectionOf" | "hasNoLinks"> & {
    readonly query: Query;
    readonly first: Page<Row>;
    readonly peeking?: Peeking;
  },
) {
  const { title, path, query, columns, keyOf, selectionOf, hasNoLinks = false, peeking } = props;
  const rows = useSignal<readonly Row[]>([]);
  const last = useSignal<Page<Row> | null>(null);
  const error = useSignal<ApiError | null>(null);
  const end = last.value ?? props.first;
  const more = async () => {
    try {
      const { value } = await callApi<Page<Row>>({ path, query: { ...query, cursor: end.next_cursor } });
      rows.value = [...rows.value, ...value.data];
      last.value = value;
      error.value = null;
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      error.value = thrown;
    }
  };
  return (
    <>
      {rows.value.length > 0 && (
        <DataTable
          caption={`${title}, more rows`}
          columns={columns}
          rows={rows.value}
          keyOf={keyOf}
          hasNoLinks={hasNoLinks}
          {...selecting(selectionOf, rows.value)}
          {...(peeking !== undefined && { peek: peeking.peek, peekedKey: peeking.peekedKey })}
        />
      )}
      {error.value !== null && <ErrorNote error={error.value} />}
      <SearchedTo end={end} more={more} />
    </>
  );
}

/** Shows how far back a time-limited search reached, with a button to continue. */
export function SearchedTo({
  end,
  more,
}: {
  readonly end: Page<unknown>;
  readonly more: () => Promise<void>;
}) {
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
