import type {
  EndpointMemory,
  EndpointNote,
  EndpointQuery,
  EndpointRecollection,
  SliceCount,
} from "../../../ports/shared-state.ts";
import type { Calls } from "./calls.ts";
import type { Keys } from "./keys.ts";

/**
 * What owners remember of their endpoints, in one hash each (scripts.ts). Reading is one plain command. Adding is a
 * script, because the last note of a former owner and the first of the next one may arrive at the same moment.
 */
export class RedisEndpoints implements EndpointMemory {
  readonly #calls: Calls;
  readonly #keys: Keys;

  constructor(calls: Calls, keys: Keys) {
    this.#calls = calls;
    this.#keys = keys;
  }

  async note(notes: readonly EndpointNote[]): Promise<void> {
    await this.#calls.each(notes, (client, note) =>
      client.note(this.#keys.endpoint(note.webhookId), valuesOf(note)),
    );
  }

  async recall(queries: readonly EndpointQuery[]): Promise<readonly EndpointRecollection[]> {
    return this.#calls.each(queries, async (client, { webhookId, windowMs }) =>
      recollection(await client.hGetAll(this.#keys.endpoint(webhookId)), windowMs),
    );
  }
}

function valuesOf({ windowMs, cleared, counts, rateFullAt }: EndpointNote): readonly (string | number)[] {
  const slices = counts.flatMap(({ slice, successes, failures }) => [slice, successes, failures]);
  return [windowMs, cleared ? 1 : 0, rateFullAt ?? "", ...slices];
}

/** Ignores unknown fields. */
function recollection(fields: Readonly<Record<string, string>>, windowMs: number): EndpointRecollection {
  const counts = new Map<number, { slice: number; successes: number; failures: number }>();
  let rateFullAt: number | null = null;
  const isSameWindow = fields["window"] === String(windowMs);
  for (const [field, value] of Object.entries(fields)) {
    const number = Number(value);
    if (!Number.isFinite(number)) continue;
    if (field === "fullAt") rateFullAt = number;
    else if (isSameWindow && /^[sf]\d+$/.test(field)) add(counts, field, number);
  }
  return { counts: [...counts.values()], rateFullAt };
}

function add(
  counts: Map<number, { -readonly [Name in keyof SliceCount]: number }>,
  field: string,
  number: number,
) {
  const slice = Number(field.slice(1));
  const count = counts.get(slice) ?? { slice, successes: 0, failures: 0 };
  counts.set(slice, count);
  if (field.startsWith("s")) count.successes = number;
  else count.failures = number;
}
