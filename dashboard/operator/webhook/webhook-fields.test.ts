import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Webhook } from "../../shared/resources.ts";
import { formHints } from "../../../scripts/form-hints.ts";
import { webhookFilterNames, webhookSettings } from "../../shared/webhook-settings.ts";
import { bodyOf } from "../form/form-fields.ts";
import { typedWebhook, webhookFields } from "./webhook-fields.ts";

suite("the form of a webhook", () => {
  test("the generated settings are those of the definition (npm run form-hints)", () => {
    const { settings, filters } = formHints();
    assert.deepEqual([webhookSettings, webhookFilterNames], [settings, filters]);
  });

  test("a new webhook sends typed fields and omits defaults", () => {
    const before = typedWebhook(null);
    const typed = {
      ...before,
      "url": "https://a.example/",
      "events": "order.*, invoice.paid",
      "rate_limit.burst": "5",
    };
    assert.deepEqual(bodyOf(webhookFields, typed, before), {
      body: { url: "https://a.example/", events: ["order.*", "invoice.paid"], rate_limit: null },
      problems: [],
    });
  });

  test("a change sends only changed fields, and both parts of a rate limit", () => {
    const webhook = {
      url: "https://a.example/",
      events: ["order.*"],
      rate_limit: { requests_per_minute: 60, burst: 5 },
      headers: { "X-Shop": "berlin" },
      active: true,
      metadata: {},
      retry_config: { max_attempts: 10 },
    } as unknown as Webhook;
    const before = typedWebhook(webhook);
    assert.deepEqual(bodyOf(webhookFields, before, before).body, {});
    const typed = {
      ...before,
      "rate_limit.burst": "7",
      "headers": "X-Shop: paris\nX-Two:2",
      "active": "false",
    };
    assert.deepEqual(bodyOf(webhookFields, typed, before).body, {
      rate_limit: { requests_per_minute: 60, burst: 7 },
      headers: { "X-Shop": "paris", "X-Two": "2" },
      active: false,
    });
    assert.deepEqual(bodyOf(webhookFields, { ...before, "retry_config.max_attempts": "3" }, before).body, {
      retry_config: { max_attempts: 3 },
    });
  });

  test("invalid fields are reported by name", () => {
    const before = typedWebhook(null);
    const typed = { ...before, timeout_ms: "soon", headers: "no colon", metadata: "{" };
    assert.deepEqual(
      bodyOf(webhookFields, typed, before).problems.map(({ field }) => field),
      ["timeout_ms", "headers", "metadata"],
    );
  });
});
