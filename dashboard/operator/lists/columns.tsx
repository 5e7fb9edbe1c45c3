import type { ComponentChildren } from "preact";
import type { Column } from "../../shared/ui/data-table.tsx";
import { When } from "../../shared/ui/when.tsx";

type Needs = Column<never>["needs"];
type Cell<Row> = (row: Row) => ComponentChildren;

/** Columns of tables by what their cells are. `needs` is the minimum table width for the column to be shown. */
export const column = {
  text: <Row,>(title: string, cell: Cell<Row>, needs?: Needs): Column<Row> => ({ title, cell, needs }),
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
