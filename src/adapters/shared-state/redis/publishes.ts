import { tryParseJson } from "../../../core/json/try-parse.ts";
import type {
  PublishEntry,
  PublishKey,
  PublishMemory,
  RememberedPublish,
} from "../../../ports/shared-state.ts";
import type { Calls } from "./calls.ts";
import type { Keys } from "./keys.ts";

/** Publishes by key, a string each that expires with the key's window. NX makes the first one stay. */
export class RedisPublishes implements PublishMemory {
  readonly #calls: Calls;
  readonly #keys: Keys;

  constructor({ calls, keys }: { readonly calls: Calls; readonly keys: Keys }) {
    this.#calls = calls;
    this.#keys = keys;
  }

  async recall(keys: readonly PublishKey[]): Promise<readonly (RememberedPublish | null)[]> {
    return this.#calls.each(keys, async (client, key) => {
      const name = this.#keys.publish(key);
      return name === null ? null : decode(await client.get(name));
    });
  }

  async remember(entries: readonly PublishEntry[]): Promise<void> {
    // Redis takes a time that is not positive for a mistake, and nothing is to be remembered until then.
    const lasting = entries.flatMap(({ key, publish, until }) => {
      const name = this.#keys.publish(key);
      return name === null || until < 1 ? [] : [{ name, publish, until }];
    });
    await this.#calls.each(lasting, (client, { name, publish, until }) =>
      client.set(name, encode(publish), {
        condition: "NX",
        expiration: { type: "PXAT", value: Math.ceil(until) },
      }),
    );
  }
}

function encode(publish: RememberedPublish): string {
  const { fingerprint, id, eventType, timestamp, sequenceNumber, deliveries } = publish;
  return JSON.stringify([fingerprint, id, eventType, timestamp, sequenceNumber, deliveries]);
}

/** Null for what is not there, and for what cannot be read: the store knows all the same. */
function decode(text: string | null): RememberedPublish | null {
  const fields = text === null ? null : tryParseJson(text);
  if (!Array.isArray(fields) || fields.length !== 6) return null;
  const [fingerprint, id, eventType, timestamp, sequenceNumber, deliveries] = fields as readonly unknown[];
  if (fingerprint !== null && typeof fingerprint !== "string") return null;
  if (typeof id !== "string" || typeof eventType !== "string") return null;
  if (!isNumber(timestamp) || !isNumber(sequenceNumber) || !isNumber(deliveries)) return null;
  return { fingerprint, id, eventType, timestamp, sequenceNumber, deliveries };
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}
