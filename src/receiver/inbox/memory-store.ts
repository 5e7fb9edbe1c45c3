import type { InboxClaim, InboxEntry, InboxStore, ParkedEntry } from "./inbox-store.ts";

interface MemoryEntry extends InboxEntry {
  readonly token: string | null;
  readonly parkedAt: number | null;
  readonly error: string;
}

/** For tests only: its contents are lost with the process, although the sender got a 202. */
export function createMemoryInboxStore(): InboxStore {
  const entries = new Map<string, MemoryEntry>();

  const settle = ({ id, token }: InboxClaim, change: Partial<MemoryEntry> | null): boolean => {
    const entry = entries.get(id);
    if (entry === undefined || entry.token !== token) return false;
    if (change === null) entries.delete(id);
    else entries.set(id, { ...entry, token: null, ...change });
    return true;
  };
  const isParked = (entry: MemoryEntry): entry is MemoryEntry & ParkedEntry => entry.parkedAt !== null;

  return {
    put: async (entry) => {
      if (entries.has(entry.id)) return;
      entries.set(entry.id, { ...entry, attempt: 0, token: null, parkedAt: null, error: "" });
    },
    claim: async (now, leaseUntil, token) => {
      let next: MemoryEntry | undefined;
      for (const entry of entries.values()) {
        if (isParked(entry) || entry.dueAt > now) continue;
        if (next === undefined || entry.dueAt < next.dueAt) next = entry;
      }
      if (next === undefined) return null;
      const claimed = { ...next, token, attempt: next.attempt + 1, dueAt: leaseUntil };
      entries.set(next.id, claimed);
      return claimed;
    },
    done: async (claim) => settle(claim, null),
    postpone: async ({ dueAt, error, ...claim }) => settle(claim, { dueAt, error }),
    park: async ({ parkedAt, error, ...claim }) => settle(claim, { parkedAt, error }),
    listParked: async (limit) =>
      [...entries.values()]
        .filter(isParked)
        .sort((left, right) => left.parkedAt - right.parkedAt)
        .slice(0, limit),
    requeue: async (id, now) => {
      const entry = entries.get(id);
      if (entry === undefined || !isParked(entry)) return false;
      entries.set(id, { ...entry, parkedAt: null, attempt: 0, dueAt: now });
      return true;
    },
    discard: async (id) => {
      const entry = entries.get(id);
      return entry !== undefined && isParked(entry) && entries.delete(id);
    },
  };
}
