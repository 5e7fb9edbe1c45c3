import { outcomeOf, type DeduplicationEntry, type DeduplicationStore } from "../deduplication.ts";

interface MemoryEntry extends DeduplicationEntry {
  /** Null once completed. */
  readonly token: string | null;
}

/**
 * For a single process; its contents are lost when the process ends. The tolerance for timestamps is then the only
 * protection against replays.
 *
 * Bounded: above `entriesMax` the oldest completed entries are removed early. Running claims are never removed; if
 * there is nothing else to remove, new claims are refused.
 */
export function createMemoryDeduplicationStore(
  options: { readonly entriesMax?: number } = {},
): DeduplicationStore {
  const { entriesMax = 100_000 } = options;
  // In order of the last change, so that the oldest entries come first.
  const entries = new Map<string, MemoryEntry>();

  const put = (key: string, entry: MemoryEntry): void => {
    entries.delete(key);
    entries.set(key, entry);
  };
  const makeRoom = (now: number): void => {
    for (const [key, { token, expiresAt }] of entries) {
      if (entries.size < entriesMax) return;
      if (token === null || expiresAt <= now) entries.delete(key);
    }
    if (entries.size >= entriesMax) throw new RangeError("too many messages are being processed");
  };

  return {
    claim: async ({ key, fingerprint, token, now, expiresAt }) => {
      const entry = entries.get(key);
      if (entry !== undefined && entry.expiresAt > now) return outcomeOf(entry, fingerprint);
      entries.delete(key);
      if (entries.size >= entriesMax) makeRoom(now);
      put(key, { fingerprint, token, result: null, expiresAt });
      return { kind: "claimed" };
    },
    finish: async ({ key, fingerprint, token, result, expiresAt }) => {
      const entry = entries.get(key);
      if (entry !== undefined && entry.token !== token) return false;
      put(key, { fingerprint, token: null, result, expiresAt });
      return true;
    },
    release: async (key, token) => {
      if (entries.get(key)?.token === token) entries.delete(key);
    },
    purge: async (now) => {
      const before = entries.size;
      for (const [key, { expiresAt }] of entries) if (expiresAt <= now) entries.delete(key);
      return before - entries.size;
    },
  };
}
