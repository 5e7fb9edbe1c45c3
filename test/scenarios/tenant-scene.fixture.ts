/** The resources of one scenario on a shared deployment: a tenant, its key, and a receiver. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { startReceiver } from "../peers/receiver.ts";
import type { Receiver } from "../peers/receiver.ts";
import { itemsOf, textOf } from "./api/client.fixture.ts";
import type { Client, Json, OpenedApi, Reply } from "./api/client.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { patientClient } from "./patient-client.fixture.ts";

interface Surroundings extends Omit<OpenedApi, "close"> {
  readonly tenantId: string;
}

export class TenantScene {
  readonly tenantId: string;
  /** A client that uses the tenant's key, which has all rights. */
  readonly api: Client;
  readonly admin: Client;
  readonly receiver: Receiver;

  private constructor(parts: Pick<TenantScene, "tenantId" | "api" | "admin" | "receiver">) {
    this.tenantId = parts.tenantId;
    this.api = parts.api;
    this.admin = parts.admin;
    this.receiver = parts.receiver;
  }

  static async open({ baseUrl, adminKey, tenantId }: Surroundings): Promise<TenantScene> {
    const admin = patientClient({ baseUrl, key: adminKey });
    const api = admin.withKey(await admin.keyFor("manage", tenantId));
    return new TenantScene({ tenantId, api, admin, receiver: await startReceiver() });
  }

  close(): Promise<void> {
    return this.receiver.close();
  }

  /** Creates a webhook and returns its ID. By default, it subscribes to `order.*` at `/hook`. */
  async addWebhook(settings: object = {}): Promise<string> {
    return textOf((await this.makeWebhook(settings))["id"]);
  }

  /** Same as `addWebhook`, but returns the whole webhook, including its secret. */
  async makeWebhook(settings: object = {}): Promise<Json> {
    const made = await this.api.post("/v1/webhooks", {
      url: this.receiver.url("/hook"),
      events: ["order.*"],
      ...settings,
    });
    assert.equal(made.status, 201, made.text);
    return made.body;
  }

  /** Sends a PATCH request for a webhook or for a resource below a webhook's path. */
  async change(path: string, body: object): Promise<Json> {
    const changed = await this.api.call("PATCH", `/v1/webhooks/${path}`, { body });
    assert.equal(changed.status, 200, changed.text);
    return changed.body;
  }

  /** Publishes an event, by default `order.paid`, and returns its ID. */
  async publish(event: object = {}): Promise<string> {
    const made = await this.#publishes("/v1/events", { event_type: "order.paid", data: { n: 1 }, ...event });
    return textOf(made.body["id"]);
  }

  /** Publishes events in one request and returns their IDs. Each event has its number in `data.n`. */
  async publishNumbered(count: number, eventOf: (n: number) => object = () => ({})): Promise<string[]> {
    const events = Array.from({ length: count }, (_, n) => ({
      event_type: "order.paid",
      data: { n },
      ...eventOf(n),
    }));
    const made = await this.#publishes("/v1/events/batch", { events });
    return itemsOf(made.body["results"]).map((result) => textOf(result["id"]));
  }

  /** Uses an idempotency key, as publishers do that want each event to be published exactly once. */
  async #publishes(path: string, body: object): Promise<Reply> {
    const made = await this.api.post(path, body, { headers: { "idempotency-key": `"${randomUUID()}"` } });
    assert.equal(made.status, 202, made.text);
    return made;
  }

  async list(path: string): Promise<readonly Json[]> {
    const listed = await this.api.get(path);
    assert.equal(listed.status, 200, listed.text);
    return itemsOf(listed.body["data"]);
  }

  /** The newest delivery of an event. */
  async deliveryOf(eventId: string): Promise<Json> {
    const [delivery] = await this.list(`/v1/events/${eventId}/deliveries`);
    assert.ok(delivery !== undefined, `${eventId} has no delivery`);
    return delivery;
  }

  /** The newest delivery of an event, after it has reached this status. */
  reaches(eventId: string, status: string): Promise<Json> {
    return eventually(`the delivery is ${status}`, {
      ask: () => this.deliveryOf(eventId),
      holds: (delivery) => (delivery["status"] as unknown) === status,
    });
  }

  /** The newest delivery of an event, after it waits for this reason. */
  waitsFor(eventId: string, reason: string): Promise<Json> {
    return eventually(`the delivery waits for ${reason}`, {
      ask: () => this.deliveryOf(eventId),
      holds: (delivery) => (delivery["waiting_for"] as unknown) === reason,
    });
  }

  /** The attempts of the newest delivery of an event, after the delivery has reached this status. */
  async attemptsAt(eventId: string, status: string): Promise<readonly Json[]> {
    const { id } = (await this.reaches(eventId, status)) as unknown as { readonly id: string };
    return itemsOf((await this.api.get(`/v1/deliveries/${id}`)).body["attempts"]);
  }

  async health(webhookId: string): Promise<Json> {
    const { status, text, body } = await this.api.get(`/v1/webhooks/${webhookId}/health`);
    assert.equal(status, 200, text);
    return body;
  }

  /** A bulk operation, after it has reached this status. */
  operationAt(id: string, status: string): Promise<Json> {
    return eventually(`the operation is ${status}`, {
      ask: async () => (await this.api.get(`/v1/dlq/batch-operations/${id}`)).body,
      holds: (operation) => (operation["status"] as unknown) === status,
    });
  }

  /** The values of `data.n` of the received events, in order of arrival. */
  numbers(): number[] {
    return this.receiver.requests.map(({ text }) => (JSON.parse(text) as { data: { n: number } }).data.n);
  }
}

/** The values of one field, without types, for comparisons. */
export function fieldOf(items: readonly Json[], name: string): unknown[] {
  return items.map((item) => item[name]);
}
