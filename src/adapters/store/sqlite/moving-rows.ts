import type { MovedKey, MovedPart, Stretch } from "../../../ports/store/moving.ts";
import { orderingCodes, waitingMax } from "../codes.ts";
import { tierSpan } from "../queue-position.ts";

/** How the rows of a part are stored here. */
export interface StoredPart {
  /** The table, with the alias that `key` uses. */
  readonly table: string;
  /** What is read: the table, or a join. */
  readonly from: string;
  /** The SQL of each column of the part. */
  readonly columns: Readonly<Record<string, string>>;
  /** The sort order of the table, and its value for a key. */
  readonly key: readonly string[];
  readonly keyOf: (key: MovedKey) => MovedKey;
  /** The SQL of each column of the table, where `:name` is a column of the part. */
  readonly writes: Readonly<Record<string, string>>;
}

type Special = Partial<StoredPart> & {
  /** Columns of the part that the table does not have. */
  readonly unwritten?: readonly string[];
};

const attemptsPerDelivery = 2 ** 16;

const queuePosition = `CASE WHEN :state > ${waitingMax} THEN NULL
  WHEN (SELECT ordering FROM lanes WHERE ref = :lane) <> ${orderingCodes.encode.none}
    THEN coalesce(:order_position, :seq)
  ELSE :priority * ${tierSpan} + min(max(:due_at, 0), ${tierSpan - 1}) END`;

/** Parts that differ from the table of the same name. */
const special: Readonly<Record<string, Special>> = {
  tenant_sequences: {
    table: "tenant_tallies",
    columns: { last: "sequence_last" },
    writes: { sequence_last: ":last", dead_letters: "0" },
    unwritten: ["last"],
  },
  events: {
    columns: { occurred_at: "timestamp" },
    writes: { timestamp: ":occurred_at", delivery_first: "0" },
    unwritten: ["occurred_at"],
  },
  deliveries: { writes: { rank: queuePosition } },
  // key = delivery << 16 | number (migrations/0001-initial.ts).
  attempts: {
    table: "attempts AS a",
    from: "attempts a JOIN deliveries d ON d.seq = a.key >> 16",
    columns: {
      delivery: "a.key >> 16",
      number: "a.key & 65535",
      webhook: "d.webhook",
      id: "a.id",
      category: "a.category",
      state_unknown: "a.unknown",
    },
    key: ["a.key"],
    keyOf: ([delivery, number]) => [Number(delivery) * attemptsPerDelivery + Number(number)],
    writes: { key: `:delivery * ${attemptsPerDelivery} + :number`, unknown: ":state_unknown" },
    unwritten: ["delivery", "number", "webhook", "state_unknown"],
  },
  // Skip keys whose event was deleted; they have no effect.
  dedup_keys: {
    table: "dedup_keys AS k",
    from: "dedup_keys k JOIN events e ON e.seq = k.event",
    columns: { tenant: "k.tenant", key: "k.key", event: "e.id" },
    key: ["k.tenant", "k.key"],
    writes: { event: "(SELECT seq FROM events WHERE id = :event)" },
  },
};

export function storedPart(part: MovedPart): StoredPart {
  const names = Object.keys(part.columns);
  const { table = part.name, columns, unwritten = [], writes, ...more } = special[part.name] ?? {};
  const written = names.filter((name) => !unwritten.includes(name));
  return {
    table,
    from: table,
    key: names.slice(0, part.keyLength),
    keyOf: (key) => key,
    ...more,
    columns: { ...Object.fromEntries(names.map((name) => [name, name])), ...columns },
    writes: { ...Object.fromEntries(written.map((name) => [name, `:${name}`])), ...writes },
  };
}

/** The rows of a stretch, as a condition and its values. */
export function within(
  { key, keyOf }: StoredPart,
  { after, upTo }: Stretch,
): { readonly sql: string; readonly values: MovedKey } {
  const place = (of: MovedKey) => `(${of.map(() => "?").join(", ")})`;
  const columns = `(${key.join(", ")})`;
  const from = after === null ? [] : keyOf(after);
  const to = upTo === null ? [] : keyOf(upTo);
  const clauses = [
    ...(from.length === 0 ? [] : [`${columns} > ${place(from)}`]),
    ...(to.length === 0 ? [] : [`${columns} <= ${place(to)}`]),
  ];
  return { sql: clauses.length === 0 ? "" : `WHERE ${clauses.join(" AND ")}`, values: [...from, ...to] };
}
