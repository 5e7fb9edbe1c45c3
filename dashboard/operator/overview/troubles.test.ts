import assert from "node:assert/strict";
import { test } from "node:test";
import type { Delivery, DeliveryProblem, Webhook } from "../../shared/resources.ts";
import { troublesOf } from "./troubles.ts";

const delivery = (webhookId: string) => ({ webhook_id: webhookId }) as Delivery;

test("a webhook with several problems is listed once, suspended webhooks first", () => {
  const suspended = {
    id: "b",
    url: "https://b.example/",
    status: "suspended",
    status_reason: null,
  } as Webhook;
  const troubles = troublesOf({
    waiting: [delivery("a"), delivery("a"), delivery("b")],
    inactive: [suspended],
    deadLetters: [delivery("a")],
    problems: [{ webhook_id: "c" } as DeliveryProblem],
  });
  assert.deepEqual(
    troubles.map(({ webhookId, waiting, deadCount }) => [webhookId, waiting.length, deadCount]),
    [
      ["b", 1, 0],
      ["a", 2, 1],
      ["c", 0, 0],
    ],
  );
});
