import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { useApi } from "../../shared/queries.ts";
import type { Attempt, DeliveryDetail, DeliveryPage } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { type Column, DataTable } from "../../shared/ui/data-table.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { type AttemptDifference, differencesBetween, hasDetails } from "./attempt-differences.ts";

const nothing = "nothing";
const lastAccepted = "accepted";

/** Compares an attempt with another attempt of its delivery, or with the last accepted attempt of its webhook. */
export function AttemptComparison(props: { readonly delivery: DeliveryDetail; readonly attempt: Attempt }) {
  const { delivery, attempt } = props;
  const id = useId();
  const against = useSignal(nothing);
  const others = delivery.attempts.filter((one) => one.attempt_number !== attempt.attempt_number);
  const other = others.find((one) => String(one.attempt_number) === against.value);
  return (
    <>
      <h3>Compare</h3>
      <div class="fields filters">
        <div class="field">
          <label for={id}>Compare with</label>
          <select
            id={id}
            value={other === undefined && against.value !== lastAccepted ? nothing : against.value}
            onChange={({ currentTarget }) => (against.value = currentTarget.value)}
          >
            <option value={nothing}>nothing</option>
            <option value={lastAccepted}>last accepted by this webhook</option>
            {others.map(({ attempt_number: number }) => (
              <option key={number} value={String(number)}>
                attempt {number}
              </option>
            ))}
          </select>
        </div>
      </div>
      {other !== undefined && (
        <Differences one={attempt} other={other} title={`Attempt ${other.attempt_number}`} />
      )}
      {against.value === lastAccepted && <BesideAccepted delivery={delivery} attempt={attempt} />}
    </>
  );
}

function BesideAccepted({
  delivery: { id, webhook_id: webhookId },
  attempt,
}: {
  readonly delivery: DeliveryDetail;
  readonly attempt: Attempt;
}) {
  const query = { webhook_id: webhookId, status: "success", limit: 1, include: "last_attempt" };
  const { data, error } = useApi<DeliveryPage>({ path: "v1/deliveries", query }, { everyMs: false });
  if (data === null) return error === null ? null : <ErrorNote error={error} />;
  const [accepted] = data.data;
  const other = accepted?.last_attempt ?? null;
  if (accepted === undefined || other === null)
    return <p class="soft">No accepted delivery of this webhook was found in the searched time range.</p>;
  if (accepted.id === id && other.attempt_number === attempt.attempt_number)
    return <p class="soft">This is the last accepted attempt.</p>;
  return (
    <>
      <p>
        Last accepted: <a href={pagePath(`deliveries/${accepted.id}`)}>{accepted.event_type}</a>
      </p>
      <Differences one={attempt} other={other} title="Accepted" />
    </>
  );
}

function Differences(props: { readonly one: Attempt; readonly other: Attempt; readonly title: string }) {
  const { one, other, title } = props;
  const columns: readonly Column<AttemptDifference>[] = [
    { title: "Field", cell: ({ name }) => name },
    { title: `Attempt ${one.attempt_number}`, cell: (row) => row.one ?? "–", isProse: true },
    { title, cell: (row) => row.other ?? "–", isProse: true },
  ];
  return (
    <>
      <DataTable
        caption="Differences"
        columns={columns}
        rows={differencesBetween(one, other)}
        keyOf={({ name }) => name}
        hasNoLinks
      />
      {hasDetails(one) !== hasDetails(other) && (
        <p class="soft">
          Connection, configuration and headers are stored for only one of the two attempts. They are stored
          for each attempt that was not accepted, and for 1 in 100 others.
        </p>
      )}
    </>
  );
}
