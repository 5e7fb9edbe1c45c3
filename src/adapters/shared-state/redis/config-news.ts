import { tryParseJson } from "../../../core/json/try-parse.ts";
import type { StoreChange } from "../../../ports/store/changes.ts";
import type { ConfigChange } from "../../../ports/store/config-changes.ts";
import type { ConfigNews } from "../../../ports/shared-state.ts";
import type { Calls } from "./calls.ts";

export interface NewsOptions {
  readonly calls: Calls;
  readonly channel: string;
  /**
   * Identifies this process among the subscribers. It is part of every announcement, so that a process ignores its own.
   */
  readonly self: string;
}

/**
 * Announces configuration changes over publish and subscribe. Processes that are not connected at that moment miss
 * them. After a gap shared-state.ts reports `unknown`, and listeners read everything again. Messages come from outside,
 * so each is validated.
 */
export class RedisConfigNews implements ConfigNews {
  readonly carriesWork = false;
  readonly #options: NewsOptions;
  readonly #listeners = new Set<(change: StoreChange) => void>();

  constructor(options: NewsOptions) {
    this.#options = options;
  }

  subscribe(listener: (change: StoreChange) => void): () => void {
    // A new function each time, so that a listener that subscribes twice can end each subscription separately.
    const entry = (change: StoreChange): void => listener(change);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  async announce(change: ConfigChange): Promise<void> {
    const { calls, channel, self } = this.#options;
    await calls.call((client) => client.publish(channel, JSON.stringify({ from: self, change })));
  }

  /** Called for every message of the channel. Ignores everything except announcements of other processes. */
  heard(payload: string): void {
    const change = announced(payload, this.#options.self);
    if (change !== null) this.notify({ kind: "config", change });
  }

  notify(change: StoreChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  close(): void {
    this.#listeners.clear();
  }
}

function announced(payload: string, self: string): ConfigChange | null {
  const message = tryParseJson(payload);
  if (!isRecord(message) || message["from"] === self || !isRecord(message["change"])) return null;
  const { kind, webhookIds, tenantIds } = message["change"];
  switch (kind) {
    case "tenants":
    case "api_keys":
    case "event_types":
    case "portal":
    case "gateway":
      return { kind };
    case "webhooks":
    case "orders":
      return areTexts(webhookIds) ? { kind, webhookIds } : null;
    case "tenant_keys":
      return areTexts(tenantIds) ? { kind, tenantIds } : null;
    default:
      return null;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
