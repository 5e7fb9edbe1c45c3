import { createHash } from "node:crypto";
import type { PublishKey } from "../../../ports/shared-state.ts";

/** On whose behalf something is kept. */
export interface KeyScope {
  /** A random id that the database holds: one that was made anew has another one, and finds nothing of the old one's. */
  readonly deployment: string;
  /**
   * Which run of the database server has what was published. After another one took over, publishes may be lost that are
   * known here. Null while nobody can tell, and then the store is asked.
   */
  readonly incarnation: string | null;
}

/** Names in Redis. Each entity is one key, whose part in braces decides where it lies in a cluster. */
export class Keys {
  readonly #prefix: string;
  /** Null until the database is open, and where there is none, as in tests of one part. */
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

  /** A digest: keys of publishers may be long and hold anything, and must not meet another tenant's. */
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

  /** To try out with what may be done; gone in a second. */
  rehearsal(kind: "limit" | "endpoint" | "publish" | `place ${number}`): string {
    return `${this.#prefix}:rehearsal:${kind}`;
  }

  /** The channel of configuration news. Hints only, so another deployment's do no harm. */
  get config(): string {
    return `${this.#prefix}:config`;
  }
}
