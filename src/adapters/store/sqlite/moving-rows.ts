import type { MovedKey, MovedPart } from "../../../ports/store/moving.ts";

/** Where the rows of a part stand in this store, where that is not a table of the same name with the same columns. */
export interface StoredPart {
  readonly from: string;
  /** SQL of the columns that have another name, or come from elsewhere. */
  readonly columns: Readonly<Record<string, string>>;
  /** What the table is ordered by, and the value of it for a key. */
  readonly key: readonly string[];
  readonly keyOf?: (key: MovedKey) => MovedKey;
}

const attemptsPerDelivery = 2 ** 16;

const special: Readonly<Record<string, Partial<StoredPart>>> = {
  tenant_sequences: { from: "tenant_tallies", columns: { last: "sequence_last" } },
  events: { columns: { occurred_at: "timestamp" } },
  // key = delivery << 16 | number (migrations/0001-initial.ts).
  attempts: {
    from: "attempts a JOIN deliveries d ON d.seq = a.key >> 16",
    columns: {
      ...{ delivery: "a.key >> 16", number: "a.key & 65535", webhook: "d.webhook" },
      ...{ id: "a.id", category: "a.category", state_unknown: "a.unknown" },
    },
    key: ["a.key"],
    keyOf: ([delivery, number]) => [Number(delivery) * attemptsPerDelivery + Number(number)],
  },
  // Keys whose event is gone decide nothing any more.
  dedup_keys: {
    from: "dedup_keys k JOIN events e ON e.seq = k.event",
    columns: { tenant: "k.tenant", key: "k.key", event: "e.id" },
    key: ["k.tenant", "k.key"],
  },
};

export function storedPart(part: MovedPart): StoredPart {
  const names = Object.keys(part.columns);
  const { from = part.name, columns = {}, key, keyOf } = special[part.name] ?? {};
  return {
    from,
    columns: Object.fromEntries(names.map((name) => [name, columns[name] ?? name])),
    key: key ?? names.slice(0, part.keyLength),
    ...(keyOf === undefined ? {} : { keyOf }),
  };
}
