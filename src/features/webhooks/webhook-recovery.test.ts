import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistoryStore } from "../../ports/store/history.ts";
import type { BatchOperation } from "../../ports/store/operations.ts";
import type { LiveWebhook } from "../../engine/endpoint/endpoint-config.ts";
import type { BatchOperations } from "../operations/batch-operations.ts";
import { createCircuit } from "../../domain/circuit-breaker.ts";
import { standard } from "../../domain/profiles/standard.ts";
import { WebhookRecovery } from "./webhook-recovery.ts";

test("a customer has one active recovery of a webhook; a key may have several", async () => {
  const underWay: Pick<BatchOperation, "kind" | "selection">[] = [];
  const operations = {
    unfinished: async () => underWay,
    create: async (_: unknown, order: Pick<BatchOperation, "kind" | "selection">) => {
      underWay.push(order);
      return order;
    },
  };
  const history = {
    searchDeliveries: async () => ({ rows: [{ position: 7 }], next: null }),
    countDeliveries: async () => 2,
  };
  const recovery = new WebhookRecovery(
    history as unknown as HistoryStore,
    operations as unknown as BatchOperations,
    { now: () => 0 },
  );
  const webhookOf = (id: string) =>
    ({
      webhook: { id, tenantId: "acme", status: "active" },
      circuit: createCircuit(0),
      policy: { circuitBreaker: standard.circuitBreaker },
    }) as unknown as LiveWebhook;
  const portal = { webhookIds: null, capabilities: new Set<never>(), reference: null, expiresAt: 0 };
  const customer = { tenantId: "acme", portal };
  const ask = (scope: object, id: string, more: object = {}) =>
    recovery.recover(scope as typeof customer, webhookOf(id), { id, since: 0, ...more });
  await ask(customer, "one");
  await assert.rejects(ask(customer, "one"), { code: "conflict" });
  await ask(customer, "one", { dryRun: true });
  await ask(customer, "other");
  await ask({ tenantId: "acme" }, "one");
});
