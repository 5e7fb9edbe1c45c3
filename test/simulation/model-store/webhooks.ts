import type { Webhook } from "../../../src/domain/webhook.ts";
import { revisionAfter } from "../../../src/domain/webhook-history.ts";
import type {
  SavedBeside,
  StoredSecret,
  StoredWebhook,
  WebhookStore,
} from "../../../src/ports/store/webhooks.ts";
import type { Rows } from "./rows.ts";

export class ModelWebhooks implements WebhookStore {
  readonly #rows: Rows;
  readonly #tenantKeys = new Map<string, readonly StoredSecret[]>();

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  async save(given: Webhook, { secrets }: SavedBeside = {}): Promise<Webhook> {
    const row = this.#rows.webhooks.get(given.id);
    const before = row?.webhook ?? null;
    const webhook = {
      ...given,
      revision: revisionAfter(given, before, secrets !== undefined),
    };
    if (row === undefined)
      this.#rows.webhooks.set(given.id, { webhook, secrets: secrets ?? [], runtime: null, deletedAt: null });
    // A change that raced with the deletion must not recreate the webhook.
    else if (row.deletedAt === null) Object.assign(row, { webhook, secrets: secrets ?? row.secrets });
    return webhook;
  }

  async history(): ReturnType<WebhookStore["history"]> {
    return { rows: [], next: null };
  }

  async delete(id: string, deletedAt: number): Promise<void> {
    const row = this.#rows.webhooks.get(id);
    if (row === undefined) return;
    row.deletedAt = deletedAt;
    row.secrets = [];
    row.runtime = null;
  }

  async page(after: string | null, limit: number): Promise<readonly StoredWebhook[]> {
    const ids = [...this.#rows.webhooks.keys()];
    const start = after === null ? 0 : ids.indexOf(after) + 1;
    return [...this.#rows.webhooks.values()]
      .slice(start)
      .filter((row) => row.deletedAt === null)
      .slice(0, limit)
      .map(({ webhook, secrets, runtime }) => ({ webhook, secrets, runtime }));
  }

  async some(ids: readonly string[]): Promise<readonly StoredWebhook[]> {
    const page = await this.page(null, this.#rows.webhooks.size);
    return page.filter(({ webhook }) => ids.includes(webhook.id));
  }

  async saveTenantKeys(tenantId: string, keys: readonly StoredSecret[]): Promise<void> {
    this.#tenantKeys.set(tenantId, keys);
  }

  async tenantKeys(tenantId: string): Promise<readonly StoredSecret[]> {
    return this.#tenantKeys.get(tenantId) ?? [];
  }

  async hasSecrets(): Promise<boolean> {
    const ofWebhooks = this.#rows.webhooks.values().some(({ secrets }) => secrets.length > 0);
    return ofWebhooks || this.#tenantKeys.values().some((keys) => keys.length > 0);
  }

  async findBySecretDigest(
    digest: string,
  ): Promise<{ readonly webhookId: string; readonly tenantId: string } | null> {
    for (const { webhook, secrets } of this.#rows.webhooks.values()) {
      if (secrets.some((secret) => secret.digest === digest)) {
        return { webhookId: webhook.id, tenantId: webhook.tenantId };
      }
    }
    return null;
  }

  async deletedWithWork(): Promise<readonly string[]> {
    const withWork = new Set([...this.#rows.waiting()].map((row) => row.lane.webhookId));
    return [...this.#rows.webhooks]
      .filter(([id, row]) => row.deletedAt !== null && withWork.has(id))
      .map(([id]) => id);
  }
}
