import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
  operationalEventCatalogue,
  operationalEventExample,
  operationalEventSchema,
} from "./operational-event-catalogue.ts";
import { hourOf, operationalEventTypes, shownUrl, webhookEvent } from "./operational-event.ts";

suite("operational events", () => {
  test("every type is described, with an example that has every member of its schema", () => {
    assert.deepEqual(Object.keys(operationalEventCatalogue).toSorted(), operationalEventTypes.toSorted());
    for (const type of operationalEventTypes) {
      const { required } = operationalEventSchema(type) as { readonly required: readonly string[] };
      assert.deepEqual(Object.keys(operationalEventExample(type)), required, type);
      assert.ok(required.includes("tenant_id") && required.includes("occurred_at"), type);
    }
  });

  test("the key contains webhook, type and what distinguishes the event", () => {
    const webhook = {
      id: "w1",
      tenantId: "acme",
      events: ["*"],
      url: "https://me:secret@example.com/hooks?token=secret",
    };
    const event = webhookEvent(webhook, { type: "posthorn.webhook.paused", of: 7, at: 0 });
    assert.equal(event.key, "posthorn.webhook.paused:w1:7");
    assert.equal(JSON.stringify(event).includes("secret"), false);
    assert.equal(event.data["url"], "https://example.com/hooks");
  });

  test("only hours are distinguished by time", () => {
    assert.equal(hourOf(Date.UTC(2026, 0, 1, 9, 59, 59)), hourOf(Date.UTC(2026, 0, 1, 9)));
    assert.notEqual(hourOf(Date.UTC(2026, 0, 1, 9, 59, 59)), hourOf(Date.UTC(2026, 0, 1, 10)));
    assert.equal(shownUrl("http://example.com:8080/a?b#c"), "http://example.com:8080/a");
  });
});
