import { type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { CellActions, type CellValue } from "./cell-actions.tsx";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Value for the copy and filter actions. Without it, the cell has no actions. */
  readonly value?: (row: Row) => CellValue | null;
  /** Numbers, aligned right. */
  readonly isFigure?: boolean;
  /** Sentences, which may wrap. */
  readonly isProse?: boolean;
  /** Set if the server can sort by this column, in descending order. */
  readonly sorting?: { readonly isOn: boolean; readonly toggle: () => void };
  /** Minimum table width for the column to be shown. */
  readonly needs?: "medium" | "wide" | undefined;
}

/** Row selection for bulk actions. */
export interface Selection {
  readonly has: (key: string) => boolean;
  readonly toggle: (key: string, how: { readonly isRange: boolean }) => void;
  readonly toggleAll: () => void;
  /** Accessible name of a row. */
  readonly nameOf: (key: string) => string;
}

interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /**
   * Set if rows do not contain links. In that case the frame takes the focus, so that the table can be scrolled with
   * the keyboard.
   */
  readonly hasNoLinks?: boolean;
  readonly selection?: Selection | undefined;
  /** Opens a row in the side panel. */
  readonly peek?: (key: string) => void;
  /** Row shown in the side panel. */
  readonly peekedKey?: string | null;
}

/** A table. The first cell of a row is its header and contains the link to its page. */
export function DataTable<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, keyOf, hasNoLinks = false, selection, peek, peekedKey = null } = props;
  const active = useSignal<ActiveCell | null>(null);
  const acts = useRowActs(props, (cell) => (active.value = cell));
  const parts = useMemo(() => partsOf(rows), [rows]);
  const keys = useMemo(() => rows.map(keyOf), [rows]);
  const areAllSelected = selection === undefined ? null : keys.length > 0 && keys.every(selection.has);
  return (
    <>
      {parts.map((part, index) => {
        const keysOfPart = keys.slice(index * partRows, index * partRows + part.length);
        const selected = selection === undefined ? null : keysOfPart.map(selection.has).join();
        return (
          <TablePart
            key={index}
            {...{ caption, columns, part, keyOf, hasNoLinks, active, acts, selected, areAllSelected }}
            firstRow={index * partRows}
            canPeek={peek !== undefined}
            peekedKey={peekedKey !== null && keysOfPart.includes(peekedKey) ? peekedKey : null}
          />
        );
      })}
    </>
  );
}

interface PartProps<Row>
  extends Pick<TableProps<Row>, "caption" | "columns" | "keyOf">,
    Pick<RowProps<Row>, "active" | "acts"> {
  readonly part: readonly Row[];
  readonly firstRow: number;
  readonly hasNoLinks: boolean;
  /** "true" or "false" for each row, comma-separated so that comparison is cheap. Null if rows cannot be selected. */
  readonly selected: string | null;
  readonly areAllSelected: boolean | null;
  readonly canPeek: boolean;
  readonly peekedKey: string | null;
}

/**
 * One part of a table. It is rendered only when its own rows change, not when other parts of the list or the URL
 * change.
 */
function TablePart<Row>(props: PartProps<Row>) {
  const { caption, columns, part, keyOf, hasNoLinks, firstRow, selected, areAllSelected } = props;
  const { active, acts, canPeek, peekedKey } = props;
  const focusable = hasNoLinks ? ({ "tabIndex": 0, "role": "group", "aria-label": caption } as const) : {};
  const content = () => {
    const areSelected = selected?.split(",");
    return (
      <div
        class="table-frame"
        data-long={part.length === partRows ? "" : undefined}
        {...focusable}
        onPointerLeave={() => acts.activate(null)}
      >
        <table>
          <caption class="off-screen">
            {caption}
            {firstRow > 0 && `, from row ${firstRow + 1} on`}
          </caption>
          <thead>
            <tr>
              {areAllSelected !== null && <SelectAll isChecked={areAllSelected} toggle={acts.toggleAll} />}
              {columns.map((column) => (
                <ColumnHead key={column.title} column={column} />
              ))}
            </tr>
          </thead>
          <tbody>
            {part.map((row, index) => {
              const rowKey = keyOf(row);
              const isSelected = areSelected === undefined ? null : areSelected[index] === "true";
              const isPeeked = peekedKey === rowKey;
              return (
                <TableRow
                  key={rowKey}
                  {...{ row, rowKey, columns, active, acts, isSelected, isPeeked, canPeek }}
                />
              );
            })}
          </tbody>
        </table>
      </div>
    );
  };
  return useMemo(content, [caption, columns, part, firstRow, selected, areAllSelected, canPeek, peekedKey]);
}

/** Rows per table. The browser renders tables within about two viewport heights. */
const partRows = 25;

/** Splits a long list into several tables, so that the browser can skip tables outside the viewport. */
function partsOf<Row>(rows: readonly Row[]): readonly (readonly Row[])[] {
  const count = Math.max(1, Math.ceil(rows.length / partRows));
  return Array.from({ length: count }, (_, part) => rows.slice(part * partRows, (part + 1) * partRows));
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

function SelectAll({ isChecked, toggle }: { readonly isChecked: boolean; readonly toggle: () => void }) {
  return (
    <td class="select-cell">
      <input type="checkbox" aria-label="Select all shown" checked={isChecked} onChange={toggle} />
    </td>
  );
}

/** Functions for the actions of rows. The object never changes, so unchanged rows are not rendered. */
interface RowActs {
  readonly activate: (cell: ActiveCell | null) => void;
  readonly peek: (key: string) => void;
  readonly toggle: Selection["toggle"];
  readonly toggleAll: Selection["toggleAll"];
  readonly nameOf: Selection["nameOf"];
}

function useRowActs<Row>(props: TableProps<Row>, activate: RowActs["activate"]): RowActs {
  const latest = useRef(props);
  latest.current = props;
  const acts = useRef<RowActs>({
    activate,
    peek: (key) => latest.current.peek?.(key),
    toggle: (key, how) => latest.current.selection?.toggle(key, how),
    toggleAll: () => latest.current.selection?.toggleAll(),
    nameOf: (key) => latest.current.selection?.nameOf(key) ?? "",
  });
  return acts.current;
}

interface RowProps<Row> {
  readonly row: Row;
  readonly rowKey: string;
  readonly columns: readonly Column<Row>[];
  /** The cell whose actions are shown. */
  readonly active: ReadonlySignal<ActiveCell | null>;
  readonly acts: RowActs;
  /** Null if rows cannot be selected. */
  readonly isSelected: boolean | null;
  readonly isPeeked: boolean;
  readonly canPeek: boolean;
}

/** One row. It is rendered only when a property or the value computed from the signal changes. */
function TableRow<Row>(props: RowProps<Row>) {
  const { row, rowKey, columns, active, acts, isSelected, isPeeked } = props;
  const at = useComputed(() => (active.value?.key === rowKey ? active.value.title : null)).value;
  return (
    <tr
      data-row={rowKey}
      class={isSelected === true ? "row-selected" : undefined}
      data-peeked={isPeeked ? "" : undefined}
      onClick={props.canPeek ? (event) => isOnEmptyGround(event) && acts.peek(rowKey) : undefined}
    >
      {isSelected !== null && <SelectRow {...{ rowKey, isSelected, acts }} />}
      {columns.map((column, index) => {
        const Cell = index === 0 ? "th" : "td";
        const value = column.value?.(row) ?? null;
        const canPeek = index === 0 && props.canPeek;
        const hasActions = value !== null || canPeek;
        const isActive = hasActions && at === column.title;
        return (
          <Cell
            key={column.title}
            {...(index === 0 && { scope: "row" })}
            class={cellClassOf(column, value)}
            data-cell={hasActions ? "" : undefined}
            data-active={isActive ? "" : undefined}
            tabIndex={hasActions && index > 0 ? -1 : undefined}
            onPointerEnter={() => acts.activate({ key: rowKey, title: column.title })}
            onFocusCapture={() => acts.activate({ key: rowKey, title: column.title })}
          >
            {column.cell(row)}
            {isActive && (
              <CellActions
                title={column.title}
                value={value}
                {...(canPeek && { peek: () => acts.peek(rowKey) })}
              />
            )}
          </Cell>
        );
      })}
    </tr>
  );
}

function SelectRow({
  rowKey,
  isSelected,
  acts,
}: Pick<RowProps<never>, "rowKey" | "acts"> & { readonly isSelected: boolean }) {
  return (
    <td class="select-cell">
      <input
        type="checkbox"
        tabIndex={-1}
        aria-label={`Select ${acts.nameOf(rowKey)}`}
        checked={isSelected}
        onClick={({ shiftKey }) => acts.toggle(rowKey, { isRange: shiftKey })}
      />
    </td>
  );
}

/**
 * Whether a click counts as a click on the row. False on links and buttons, and after text was selected. A click by
 * keyboard has `detail` 0.
 */
function isOnEmptyGround({ target, detail }: MouseEvent): boolean {
  return (
    target instanceof Element &&
    target.closest("a, button, input, .select-cell") === null &&
    (detail === 0 || getSelection()?.isCollapsed !== false)
  );
}

function classOf<Row>({ isFigure = false, isProse = false, needs }: Column<Row>): string | undefined {
  const classes = [isFigure && "figure", isProse && "prose", needs !== undefined && `needs-${needs}`];
  return classes.filter((name) => name !== false).join(" ") || undefined;
}

/** Number of the widest letters that fit into a cell. */
const uncutLengthMax = 17;

/**
 * Class that truncates cells that may be too long. Other cells do not get it, because each truncated cell slows down
 * rendering.
 */
function cellClassOf<Row>(column: Column<Row>, value: CellValue | null): string | undefined {
  const isShort = column.value !== undefined && (value === null || value.text.length <= uncutLengthMax);
  const usual = classOf(column);
  return column.isFigure === true || isShort ? usual : [usual, "cut"].filter(Boolean).join(" ");
}

/** List of names and values. A false row is left out. */
export function Facts(props: {
  readonly rows: readonly (readonly [name: string, value: ComponentChildren] | false)[];
}) {
  const rows = props.rows.filter((row) => row !== false);
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
