import type { ComponentChildren } from "preact";
import { pagePath } from "../../shared/root.ts";
import type { CellValue } from "../../shared/ui/cell-actions.tsx";
import type { Column } from "../../shared/ui/data-table.tsx";
import { When } from "../../shared/ui/when.tsx";

type Needs = Column<never>["needs"];
type Cell<Row> = (row: Row) => ComponentChildren;

/**
 * Value of a cell with a filter action, which limits the list to this value. `name` is the URL parameter of the filter.
 */
export function only(name: string, value: string | null, text = value): CellValue | null {
  return value === null || text === null ? null : { text, only: { name, values: [value] } };
}

/** Table columns for common types of cells. A column is shown if the table has at least the width `needs`. */
export const column = {
  text: <Row,>(title: string, cell: Cell<Row>, needs?: Needs): Column<Row> => ({ title, cell, needs }),
  /** A link to the page of the row. */
  link: <Row extends { readonly id: string }>(
    title: string,
    collection: string,
    text: Cell<Row>,
  ): Column<Row> => ({
    title,
    cell: (row) => (
      <a href={pagePath(`${collection}/${row.id}`)} class="row-link">
        {text(row)}
      </a>
    ),
  }),
  /** Numbers, aligned right. */
  figure: <Row,>(title: string, cell: Cell<Row>, needs?: Needs): Column<Row> => ({
    title,
    cell,
    needs,
    isFigure: true,
  }),
  /** Sentences, which may wrap. */
  prose: <Row,>(title: string, cell: Cell<Row>, needs?: Needs): Column<Row> => ({
    title,
    cell,
    needs,
    isProse: true,
  }),
  time: <Row,>(title: string, at: (row: Row) => string | null, needs?: Needs): Column<Row> =>
    column.figure(title, (row) => <When at={at(row)} />, needs),
};
