import type { IdempotencyStore } from "../../../src/ports/store/idempotency.ts";

interface Entry {
  readonly claimToken: string;
  readonly fingerprint: string;
  readonly claimUntil: number;
  readonly expiresAt: number;
  readonly answer: { readonly status: number; readonly body: string } | null;
}

/** Stores entries in memory, and exposes `entries` to tests. */
export class StandInIdempotencyStore implements IdempotencyStore {
  readonly entries = new Map<string, Entry>();

  async begin(claim: Parameters<IdempotencyStore["begin"]>[0]): ReturnType<IdempotencyStore["begin"]> {
    const name = `${claim.scope}\n${claim.key}`;
    const found = this.entries.get(name);
    const isLive = found !== undefined && found.expiresAt > claim.now;
    if (isLive && found.fingerprint !== claim.fingerprint) return { kind: "mismatch" };
    if (isLive && found.answer !== null) return { kind: "finished", ...found.answer };
    if (isLive && found.claimUntil > claim.now) return { kind: "running" };
    this.entries.set(name, { ...claim, answer: null });
    return { kind: "claimed" };
  }

  async renew(): Promise<void> {
    // Claims need no renewal here, because no call takes longer than a claim lasts.
  }

  async finish({ scope, key, status, body }: Parameters<IdempotencyStore["finish"]>[0]): Promise<void> {
    const name = `${scope}\n${key}`;
    const found = this.entries.get(name);
    if (found !== undefined) this.entries.set(name, { ...found, answer: { status, body } });
  }

  async abandon({ scope, key }: { readonly scope: string; readonly key: string }): Promise<void> {
    this.entries.delete(`${scope}\n${key}`);
  }
}
