import assert from "node:assert/strict";
import { test } from "node:test";
import { eventDelivery } from "../../domain/profiles/event-delivery.ts";
import { webhookAt } from "../../domain/webhook.fixture.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import { buildEndpointConfig } from "./endpoint-config.ts";

test("the host of a webhook is the name and port of its URL, in any notation", () => {
  assert.equal(hostOf("https://Hooks.Example.com/a"), "hooks.example.com:443");
  assert.equal(hostOf("https://hooks.example.com:443/b?c"), "hooks.example.com:443");
  assert.equal(hostOf("https://hooks.example.com./b"), "hooks.example.com:443");
  assert.equal(hostOf("https://hooks.example.com:8443/"), "hooks.example.com:8443");
  assert.equal(hostOf("http://hooks.example.com/"), "hooks.example.com:80");
  assert.equal(hostOf("https://[2001:db8::0:1]/"), "[2001:db8::1]:443");
});

function hostOf(url: string): string {
  const webhook = webhookAt(0, { url, profile: "event-delivery", schemes: [] });
  const secretBox = { open: () => assert.fail("there is no secret") } as unknown as SecretBox;
  return buildEndpointConfig({
    webhook,
    profile: eventDelivery,
    secrets: [],
    tenantKeys: [],
    secretBox,
    userAgent: "test",
    requestOrigin: "posthorn.test",
    now: 0,
  }).host;
}
