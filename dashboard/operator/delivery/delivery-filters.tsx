import { useId } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { now } from "../../shared/clock.ts";
import type { Query } from "../../shared/api.ts";
import { offeredRanges, parseRange, parseTime } from "../../shared/time/time-range.ts";
import { statuses, wordsOf } from "./wording.ts";

/** Parameters of the address that the API takes as they are. */
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

/** What the API is asked for. A relative range becomes an instant, rounded so that one answer serves for a while. */
function queryOf(params: URLSearchParams, nowMs: number): Query {
  const query: Record<string, readonly string[] | string> = {};
  for (const name of passedOn) {
    const values = params.getAll(name).filter((value) => value !== "");
    if (values.length > 0) query[name] = values;
  }
  const minuteMs = 60_000;
  const range = parseRange(params.get("range") ?? "", Math.floor(nowMs / minuteMs) * minuteMs);
  const from = range?.from ?? parseTime(params.get("from") ?? "", nowMs);
  const to = parseTime(params.get("to") ?? "", nowMs);
  if (from !== null) query["from"] = new Date(from).toISOString();
  if (to !== null) query["to"] = new Date(to).toISOString();
  return query;
}

/** The options of `posthorn deliveries list` for the same. */
export function flagsOf(query: Query): string {
  const names: Readonly<Record<string, string>> = {
    event_type: "type",
    failure_category: "category",
    webhook_id: "webhook",
    event_id: "event",
    tenant_id: "tenant",
    attempt_min: "attempts-min",
  };
  return Object.entries(query)
    .flatMap(([name, value]) =>
      (Array.isArray(value) ? (value as readonly string[]) : [String(value)]).map(
        (one) => ` --${(names[name] ?? name).replaceAll("_", "-")} '${one}'`,
      ),
    )
    .join("");
}

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
        <RangeField />
        <TextFilter name="event_type" label="Event type" placeholder="order.*" />
        <TextFilter name="http_status" label="Answer" placeholder="422, 5xx, none" />
        <TextFilter name="error" label="Text in the error" placeholder="timed out" />
        <OtherFilters />
      </div>
    </div>
  );
}

function RangeField() {
  const { params, set } = useAddress();
  const id = useId();
  const range = params.get("range") ?? "";
  return (
    <div class="field">
      <label for={id}>Made within</label>
      <select
        id={id}
        value={range}
        onChange={({ currentTarget: { value } }) =>
          set({ range: value === "" ? [] : [value], from: [], to: [] })
        }
      >
        <option value="">any time</option>
        {offeredRanges.map((name) => (
          <option key={name} value={name}>
            the last {name}
          </option>
        ))}
        {range !== "" && !offeredRanges.some((name) => name === range) && (
          <option value={range}>the last {range}</option>
        )}
      </select>
    </div>
  );
}

function TextFilter(props: { readonly name: string; readonly label: string; readonly placeholder: string }) {
  const { name, label, placeholder } = props;
  const { params, set } = useAddress();
  const id = useId();
  return (
    <form
      class="field"
      onSubmit={(event) => {
        event.preventDefault();
        const text = new FormData(event.currentTarget).get(name);
        if (typeof text === "string") set({ [name]: text.split(/[\s,]+/).filter((one) => one !== "") });
      }}
    >
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        key={params.getAll(name).join()}
        defaultValue={params.getAll(name).join(", ")}
        placeholder={placeholder}
        onBlur={({ currentTarget }) => currentTarget.form?.requestSubmit()}
      />
    </form>
  );
}

/** Filters that came with a link: they can be taken away here. */
function OtherFilters() {
  const { params, set } = useAddress();
  const names = [
    "webhook_id",
    "event_id",
    "tenant_id",
    "idempotency_key",
    "from",
    "to",
    "waiting_for",
  ] as const;
  const present = names.filter((name) => params.has(name));
  return (
    <>
      {present.map((name) => (
        <button key={name} type="button" class="chip chip-on" onClick={() => set({ [name]: [] })}>
          {name.replace("_id", "").replaceAll("_", " ")}: {shortened(params.getAll(name).join(", "))}
          <span aria-hidden="true"> ×</span>
          <span class="off-screen"> remove this filter</span>
        </button>
      ))}
    </>
  );
}

function shortened(text: string): string {
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}

/** The filters of the address as a query, new each minute where they are relative. */
export function useDeliveryQuery(): Query {
  const { params } = useAddress();
  return queryOf(params, now.value);
}
