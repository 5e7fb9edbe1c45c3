import { tryParseJson } from "../../../core/json/try-parse.ts";
import type {
  PublishEntry,
  PublishKey,
  PublishMemory,
  RememberedPublish,
} from "../../../ports/shared-state.ts";
import type { Calls } from "./calls.ts";
import type { Keys } from "./keys.ts";

/** Publishes by key, one string each, which expires with the key's window. NX keeps the first one. */
export class RedisPublishes implements PublishMemory {
  readonly #calls: Calls;
  readonly #keys: Keys;

  constructor(calls: Calls, keys: Keys) {
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
    // Redis rejects an expiry that is not positive; such an entry needs no storing.
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

/** Null for a missing or unreadable value; the store decides then. */
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
