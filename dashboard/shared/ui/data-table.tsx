import type { ComponentChildren } from "preact";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Figures stand at the right. */
  readonly isFigure?: boolean;
  /** Sentences, which may take several lines. */
  readonly isProse?: boolean;
  /** Left out where the table has less room. */
  readonly needs?: "medium" | "wide";
}

/** A real table. The first cell of a row is its heading, and holds the link to what the row is about. */
export function DataTable<Row>(props: {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Where no row has a link: the frame itself takes the focus, so that keys can scroll it. */
  readonly hasNoLinks?: boolean;
}) {
  const { caption, columns, rows, keyOf, hasNoLinks = false } = props;
  const focusable = hasNoLinks ? ({ "tabIndex": 0, "role": "group", "aria-label": caption } as const) : {};
  return (
    <div class="table-frame" {...focusable}>
      <table>
        <caption class="off-screen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} data-row={keyOf(row)}>
              {columns.map((column, index) =>
                index === 0 ? (
                  <th key={column.title} scope="row" class={classOf(column)}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={column.title} class={classOf(column)}>
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
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
