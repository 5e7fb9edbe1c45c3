import { useAddress } from "../../shared/address.ts";
import { minute } from "../../shared/clock.ts";
import type { Query } from "../../shared/api.ts";
import { rangeQuery } from "../../shared/time-range.ts";
import { LinkedFilters } from "../filters/linked-filters.tsx";
import { TextFilter } from "../filters/text-filter.tsx";
import { statuses, wordsOf } from "./wording.ts";

/** Address parameters that are passed to the API unchanged. */
const passedOn = [
  "status",
  "http_status",
  "event_type",
  "webhook_id",
  "event_id",
  "tenant_id",
  "failure_category",
  "waiting_for",
  "origin",
  "attempt_min",
  "error",
  "idempotency_key",
  "order",
] as const;

function queryOf(params: URLSearchParams, nowMs: number): Query {
  const query: Record<string, readonly string[] | string> = {};
  for (const name of passedOn) {
    const values = params.getAll(name).filter((value) => value !== "");
    if (values.length > 0) query[name] = values;
  }
  return { ...query, ...rangeQuery(params, nowMs) };
}

const linked = [
  "webhook_id",
  "event_id",
  "tenant_id",
  "idempotency_key",
  "waiting_for",
  "failure_category",
  "origin",
  "attempt_min",
  "order",
] as const;

export function DeliveryFilters() {
  const { params, set } = useAddress();
  const chosen = params.getAll("status");
  return (
    <div class="filters">
      <fieldset class="chips">
        <legend class="off-screen">State</legend>
        {statuses.map((status) => (
          <label key={status} class="chip">
            <input
              type="checkbox"
              checked={chosen.includes(status)}
              onChange={({ currentTarget }) =>
                set({
                  status: currentTarget.checked
                    ? [...chosen, status]
                    : chosen.filter((one) => one !== status),
                })
              }
            />
            {wordsOf(status).text}
          </label>
        ))}
      </fieldset>
      <div class="fields">
        <TextFilter name="event_type" label="Event type" placeholder="order.*" />
        <TextFilter name="http_status" label="Response" placeholder="422, 5xx, none" />
        <TextFilter name="error" label="Error contains" placeholder="timed out" isOneText />
        <LinkedFilters names={linked} />
      </div>
    </div>
  );
}

/** Filters in the address as a query. Relative ranges are recomputed each minute. */
export function useDeliveryQuery(): Query {
  const { params } = useAddress();
  return queryOf(params, minute.value);
}
