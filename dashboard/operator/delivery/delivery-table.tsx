import { useMemo } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import type { Delivery } from "../../shared/resources.ts";
import { DataTable, type Column, type Selection } from "../../shared/ui/data-table.tsx";
import { PeekingRows, usePeeking } from "../peeking.tsx";
import { columnsOf, usualColumns } from "./delivery-columns.tsx";

/** Delivery list within another page. */
export function DeliveryTable(props: {
  readonly caption: string;
  readonly rows: readonly Delivery[];
  /** Set when all rows belong to one webhook. */
  readonly withoutWebhook?: boolean;
}) {
  const { caption, rows, withoutWebhook = false } = props;
  const columns = usualColumns
    .filter(({ title }) => !withoutWebhook || title !== "Webhook")
    .map(({ value: _value, ...column }): Column<Delivery> => column);
  return <DataTable caption={caption} columns={columns} rows={rows} keyOf={({ id }) => id} />;
}

/** Delivery list of the list page, with selection, side panel and cell filters. */
export function WorkingDeliveryTable(props: {
  readonly caption: string;
  readonly rows: readonly Delivery[];
  readonly selection: Selection;
}) {
  const { caption, rows, selection } = props;
  const { params } = useAddress();
  const columns = useMemo(() => columnsOf(params), [params.getAll("columns").join()]);
  return (
    <PeekingRows>
      <DataTable
        caption={caption}
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        selection={selection}
        {...usePeeking()}
      />
    </PeekingRows>
  );
}
