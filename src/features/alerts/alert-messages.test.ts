import assert from "node:assert/strict";
import { test } from "node:test";
import { membersOf } from "../notifications/operational-event-catalogue.ts";
import { Wording } from "../notifications/messages.ts";
import { operatorTenantId } from "../notifications/operational-event.ts";
import { alertContent, alertEvents } from "./alert-watch.ts";
import type { AlertRecord } from "./alert.ts";
import { defaultAlertRules } from "./default-rules.ts";

const minute = 60_000;
const firing: AlertRecord = {
  id: "a1",
  rule: "queue-deep",
  ruleTenantId: null,
  severity: "critical",
  title: "Many deliveries are waiting",
  audience: "operator",
  tenantId: null,
  webhookId: null,
  subject: "installation",
  summary: "10001 deliveries wait",
  state: "firing",
  value: 10_001,
  threshold: 10_000,
  since: 0,
  lastHeldAt: minute,
  firedAt: minute,
  resolvedAt: null,
  firedToldAt: null,
  resolvedToldAt: null,
  inhibitedBy: null,
};
const over: AlertRecord = { ...firing, id: "a2", state: "resolved", resolvedAt: 5 * minute };
const group = { group: "operator:", audience: "operator", tenantId: null } as const;

test("programs get all documented fields of an alert", () => {
  const events = alertEvents([{ ...group, fired: [firing], resolved: [over] }], 6 * minute);
  assert.deepEqual(
    events.map(({ key, tenantId, onlyForOperator }) => [key, tenantId, onlyForOperator]),
    [
      ["posthorn.alert.fired:a1", operatorTenantId, true],
      ["posthorn.alert.resolved:a2", operatorTenantId, true],
    ],
  );
  for (const { type, data } of events)
    assert.deepEqual(new Set(Object.keys(data)), new Set(Object.keys(membersOf(type))));
});

test("an alert of a tenant's rule is also reported to the tenant", () => {
  const own = { ...firing, audience: "tenant", tenantId: "acme" } as const;
  const [event] = alertEvents([{ ...group, fired: [own], resolved: [] }], minute);
  assert.deepEqual([event?.tenantId, event?.onlyForOperator], ["acme", undefined]);
});

test("a message says what fires and what has ended, in the language of its channel", () => {
  const wording = new Wording();
  const message = { ...group, fired: [firing], resolved: [over] };
  const [english, german] = [alertContent(message, "en", wording), alertContent(message, "de", wording)];
  assert.equal(english.subject, "Alert: Many deliveries are waiting (and 1 more)");
  assert.equal(german.subject, "Alarm: Viele Zustellungen warten (und 1 weitere)");
  assert.match(english.text, /Resolved: Many deliveries are waiting: 10001 deliveries wait, lasted 5 min/);
  assert.match(
    german.text,
    /^Alarm: Viele Zustellungen warten: 10001 deliveries wait, seit 1970-01-01 00:00 UTC$/m,
  );
  assert.deepEqual([english.severity, english.resolves], ["critical", false]);
  const end = alertContent({ ...message, fired: [] }, "en", wording);
  assert.deepEqual(
    [end.subject, end.severity, end.resolves],
    ["Resolved: Many deliveries are waiting", "info", true],
  );
});

test("the host can replace the texts of alerts; a custom rule keeps its title in every language", () => {
  const wording = new Wording({
    de: { "alert.fired.subject": "Achtung: {title}", "alert.title.queue-deep": "Stau" },
  });
  const built = alertContent({ ...group, fired: [firing], resolved: [] }, "de", wording);
  assert.equal(built.subject, "Achtung: Stau");
  const custom = { ...firing, ruleTenantId: "acme", title: "Checkout fails" };
  const own = alertContent({ ...group, fired: [custom], resolved: [] }, "de", wording);
  assert.equal(own.subject, "Achtung: Checkout fails");
});

test("every built-in rule has a German title", () => {
  const wording = new Wording();
  for (const { name, title } of defaultAlertRules) {
    assert.equal(wording.alertTitle("en", name), title);
    assert.notEqual(wording.alertTitle("de", name), title);
  }
});
