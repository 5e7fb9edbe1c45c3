import { createHash } from "node:crypto";
import type { PublishKey } from "../../../ports/shared-state.ts";

/** Scope of the stored keys. */
export interface KeyScope {
  /** A random id stored in the database. A new database has another id, and finds nothing of the old one. */
  readonly deployment: string;
  /**
   * The run of the database server that stores the publishes. After another server took over, publishes known here may
   * be lost. Null while unknown; the store is queried instead.
   */
  readonly incarnation: string | null;
}

/** Names of keys in Redis. Each entity is one key; the part in braces selects its cluster slot. */
export class Keys {
  readonly #prefix: string;
  /** Null until the database is open, and always in tests without a database. */
  scope: (() => KeyScope) | null = null;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  limit(key: string): string {
    return `${this.#own}:limit:{${key}}`;
  }

  endpoint(webhookId: string): string {
    return `${this.#own}:endpoint:{${webhookId}}`;
  }

  /**
   * A digest, because publishers' keys may be long and contain anything, and must not collide with keys of other
   * tenants.
   */
  publish({ tenantId, idempotencyKey }: PublishKey): string | null {
    const incarnation = this.scope === null ? "" : this.scope().incarnation;
    if (incarnation === null) return null;
    const digest = createHash("sha256")
      .update(JSON.stringify([tenantId, idempotencyKey, incarnation]))
      .digest("base64url");
    return `${this.#own}:publish:{${digest}}`;
  }

  get #own(): string {
    return this.scope === null ? this.#prefix : `${this.#prefix}:${this.scope().deployment}`;
  }

  /** For testing permissions; expires after a second. */
  rehearsal(kind: "limit" | "endpoint" | "publish" | `place ${number}`): string {
    return `${this.#prefix}:rehearsal:${kind}`;
  }

  /** The channel of configuration changes. They are only hints, so those of other deployments are harmless. */
  get config(): string {
    return `${this.#prefix}:config`;
  }
}
