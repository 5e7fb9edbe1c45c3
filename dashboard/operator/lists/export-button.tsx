import { useSignal } from "@preact/signals";
import { callApi, type Query } from "../../shared/api.ts";
import { csvOf } from "../../shared/csv.ts";
import type { Page } from "../../shared/resources.ts";
import { ActionButton } from "../form/action-button.tsx";

/** Maximum rows per file. Narrower filters reach the remaining rows. */
const rowsMax = 5_000;
const pageMax = 250;
/** Limits the number of calls, because a search for rare rows returns many empty pages. */
const callsMax = 100;

/** Functions that return the cell values of a row, keyed by column title. Null is an empty cell. */
export type CsvCells<Row> = Readonly<Record<string, (row: Row) => string | number | null>>;

/** Exports all matching rows of a list as CSV, read page by page. */
export function ExportButton<Row>(props: {
  readonly path: string;
  readonly query: Query;
  readonly fileName: string;
  readonly cells: CsvCells<Row>;
}) {
  const { path, query, fileName, cells } = props;
  const said = useSignal("");
  const run = async () => {
    said.value = "";
    const { rows, isWhole } = await rowsOf<Row>(path, query);
    download({ name: fileName, text: csvOf(tableOf(rows, cells)) });
    if (!isWhole)
      said.value = `The file is limited to ${rows.length.toLocaleString()} rows. Narrow the filters to export the rest.`;
  };
  return (
    <>
      <ActionButton label="Export as CSV" run={run} done="File exported" />
      {said.value !== "" && (
        <span class="soft" role="status">
          {said.value}
        </span>
      )}
    </>
  );
}

function tableOf<Row>(rows: readonly Row[], cells: CsvCells<Row>): readonly (readonly string[])[] {
  const values = Object.values(cells);
  return [Object.keys(cells), ...rows.map((row) => values.map((valueOf) => String(valueOf(row) ?? "")))];
}

async function rowsOf<Row>(
  path: string,
  query: Query,
): Promise<{ readonly rows: readonly Row[]; readonly isWhole: boolean }> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  for (let call = 0; call < callsMax && rows.length < rowsMax; call += 1) {
    const { value }: { readonly value: Page<Row> } = await callApi<Page<Row>>({
      path,
      query: { ...query, limit: Math.min(pageMax, rowsMax - rows.length), cursor },
    });
    rows.push(...value.data);
    cursor = value.next_cursor;
    if (cursor === null) return { rows, isWhole: true };
  }
  return { rows, isWhole: false };
}

/** Downloads a string as a CSV file. */
function download({ name, text }: { readonly name: string; readonly text: string }): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
