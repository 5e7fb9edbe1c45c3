import { generateEd25519Key } from "../../domain/signing/signing-key.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import type { StoredSecret, WebhookStore } from "../../ports/store/webhooks.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";

export interface TenantKeysOptions {
  readonly access: Pick<EngineAccess, "applyTenantKeys">;
  readonly store: WebhookStore;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly random: Random;
}

/** The Ed25519 key shared by a tenant's webhooks, created when the first of them signs with `v1a` (TS16-73). */
export class TenantKeys {
  readonly #options: TenantKeysOptions;
  /** Stored as promises, so that two webhooks created at the same time get the same key. */
  readonly #known = new Map<string, Promise<readonly StoredSecret[]>>();

  constructor(options: TenantKeysOptions) {
    this.#options = options;
  }

  /** The keys, latest first; creates and activates one if there are none. */
  ensure(tenantId: string): Promise<readonly StoredSecret[]> {
    const known = this.#known.get(tenantId);
    if (known !== undefined) return known;
    const keys = this.#readOrCreate(tenantId);
    this.#known.set(tenantId, keys);
    keys.catch(() => this.#known.delete(tenantId));
    return keys;
  }

  /** Another process created or replaced them: they are read again on the next use. */
  forget(tenantIds: readonly string[]): void {
    for (const tenantId of tenantIds) this.#known.delete(tenantId);
  }

  async #readOrCreate(tenantId: string): Promise<readonly StoredSecret[]> {
    const { access, store, secretBox, clock, random } = this.#options;
    let keys = await store.tenantKeys(tenantId);
    if (keys.length === 0) {
      const plaintext = generateEd25519Key((count) => random.bytes(count)).secret;
      const ciphertext = secretBox.seal(plaintext, tenantId);
      const digest = secretBox.digest(plaintext);
      keys = [{ kind: "ed25519", ciphertext, digest, createdAt: clock.now(), expiresAt: null }];
      await store.saveTenantKeys({ tenantId, keys });
    }
    // Required for existing keys too: at start the engine loads only the keys of tenants with webhooks.
    access.applyTenantKeys({ tenantId, keys });
    return keys.toSorted((left, right) => right.createdAt - left.createdAt);
  }
}
