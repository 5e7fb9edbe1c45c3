import { createHash } from "node:crypto";
import type { PublishKey } from "../../../ports/shared-state.ts";

/** Names in Redis. Each entity is one key, whose part in braces decides where it lies in a cluster. */
export class Keys {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  limit(key: string): string {
    return `${this.#prefix}:limit:{${key}}`;
  }

  endpoint(webhookId: string): string {
    return `${this.#prefix}:endpoint:{${webhookId}}`;
  }

  /** A digest: keys of publishers may be long and hold anything, and must not meet another tenant's. */
  publish({ tenantId, idempotencyKey }: PublishKey): string {
    const digest = createHash("sha256")
      .update(JSON.stringify([tenantId, idempotencyKey]))
      .digest("base64url");
    return `${this.#prefix}:publish:{${digest}}`;
  }

  /** To try out with what may be done; gone in a second. */
  rehearsal(kind: "limit" | "endpoint" | "publish" | `place ${number}`): string {
    return `${this.#prefix}:rehearsal:${kind}`;
  }

  /** The channel of configuration news. */
  get config(): string {
    return `${this.#prefix}:config`;
  }
}
