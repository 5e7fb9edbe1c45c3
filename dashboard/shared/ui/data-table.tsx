import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { CellActions, type CellValue } from "./cell-actions.tsx";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** What can be copied from the cell, and looked for; without it the cell only shows. */
  readonly value?: (row: Row) => CellValue | null;
  /** Figures stand at the right. */
  readonly isFigure?: boolean;
  /** Sentences, which may take several lines. */
  readonly isProse?: boolean;
  /** Where the server can put rows in its order, greatest first. */
  readonly sorting?: { readonly isOn: boolean; readonly toggle: () => void };
  /** Left out where the table has less room. */
  readonly needs?: "medium" | "wide";
}

/** Rows that can be chosen for what is done to many. */
export interface Selection {
  readonly has: (key: string) => boolean;
  readonly toggle: (key: string, how: { readonly isRange: boolean }) => void;
  readonly toggleAll: () => void;
  /** Of a row, for those who do not see it. */
  readonly nameOf: (key: string) => string;
}

interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Where no row has a link: the frame itself takes the focus, so that keys can scroll it. */
  readonly hasNoLinks?: boolean;
  readonly selection?: Selection;
  /** Shows a row beside the list. */
  readonly peek?: (key: string) => void;
  /** The row that is shown beside the list. */
  readonly peekedKey?: string | null;
}

/** A real table. The first cell of a row is its heading, and holds the link to what the row is about. */
export function DataTable<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, keyOf, hasNoLinks = false, selection } = props;
  const active = useSignal<ActiveCell | null>(null);
  const focusable = hasNoLinks ? ({ "tabIndex": 0, "role": "group", "aria-label": caption } as const) : {};
  const leave = () => (active.value = null);
  return (
    <div class="table-frame" {...focusable} onPointerLeave={leave}>
      <table>
        <caption class="off-screen">{caption}</caption>
        <thead>
          <tr>
            {selection !== undefined && <SelectAll selection={selection} keys={rows.map(keyOf)} />}
            {columns.map((column) => (
              <ColumnHead key={column.title} column={column} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const key = keyOf(row);
            const at = active.value?.key === key ? active.value.title : null;
            const activate = (title: string) => (active.value = { key, title });
            return <TableRow key={key} {...props} {...{ row, at, activate }} />;
          })}
        </tbody>
      </table>
    </div>
  );
}

function ColumnHead<Row>({ column }: { readonly column: Column<Row> }) {
  const { title, sorting } = column;
  return (
    <th scope="col" class={classOf(column)} aria-sort={sorting && (sorting.isOn ? "descending" : "none")}>
      {sorting === undefined ? (
        title
      ) : (
        <button type="button" class="quiet sort-button" onClick={sorting.toggle}>
          {title}
          <span aria-hidden="true">{sorting.isOn ? " ↓" : ""}</span>
        </button>
      )}
    </th>
  );
}

interface ActiveCell {
  readonly key: string;
  readonly title: string;
}

function SelectAll({ selection, keys }: { readonly selection: Selection; readonly keys: readonly string[] }) {
  return (
    <td class="select-cell">
      <input
        type="checkbox"
        aria-label="Select all that are shown"
        checked={keys.length > 0 && keys.every((key) => selection.has(key))}
        onChange={selection.toggleAll}
      />
    </td>
  );
}

interface RowProps<Row> extends TableProps<Row> {
  readonly row: Row;
  /** Title of the cell that has its actions out. */
  readonly at: string | null;
  readonly activate: (title: string) => void;
}

function TableRow<Row>(props: RowProps<Row>) {
  const { columns, row, keyOf, selection, at, activate, peek, peekedKey = null } = props;
  const key = keyOf(row);
  const isSelected = selection?.has(key) ?? false;
  return (
    <tr
      data-row={key}
      class={isSelected ? "row-selected" : undefined}
      data-peeked={peekedKey === key ? "" : undefined}
      onClick={peek === undefined ? undefined : (event) => isOnEmptyGround(event) && peek(key)}
    >
      {selection !== undefined && <SelectRow selection={selection} rowKey={key} />}
      {columns.map((column, index) => {
        const Cell = index === 0 ? "th" : "td";
        const value = column.value?.(row) ?? null;
        const canPeek = index === 0 && peek !== undefined;
        const acts = value !== null || canPeek;
        return (
          <Cell
            key={column.title}
            {...(index === 0 && { scope: "row" })}
            class={classOf(column)}
            data-cell={acts ? "" : undefined}
            tabIndex={acts && index > 0 ? -1 : undefined}
            onPointerEnter={() => activate(column.title)}
            onFocusCapture={() => activate(column.title)}
          >
            {column.cell(row)}
            {acts && at === column.title && (
              <CellActions title={column.title} value={value} {...(canPeek && { peek: () => peek(key) })} />
            )}
            {canPeek && <button type="button" hidden data-peek onClick={() => peek(key)} />}
          </Cell>
        );
      })}
    </tr>
  );
}

function SelectRow({ selection, rowKey }: { readonly selection: Selection; readonly rowKey: string }) {
  return (
    <td class="select-cell">
      <input
        type="checkbox"
        tabIndex={-1}
        aria-label={`Select ${selection.nameOf(rowKey)}`}
        checked={selection.has(rowKey)}
        onClick={({ shiftKey }) => selection.toggle(rowKey, { isRange: shiftKey })}
      />
    </td>
  );
}

/** Not on a link or a button, and not at the end of marking text. */
function isOnEmptyGround({ target }: MouseEvent): boolean {
  return (
    target instanceof Element &&
    target.closest("a, button, input, .select-cell") === null &&
    getSelection()?.isCollapsed !== false
  );
}

function classOf<Row>({ isFigure = false, isProse = false, needs }: Column<Row>): string | undefined {
  const classes = [isFigure && "figure", isProse && "prose", needs !== undefined && `needs-${needs}`];
  return classes.filter((name) => name !== false).join(" ") || undefined;
}

/** Names and values. */
export function Facts({ rows }: { readonly rows: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
