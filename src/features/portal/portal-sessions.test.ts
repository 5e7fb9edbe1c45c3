import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { suite, test } from "node:test";
import { createUuidV7Source } from "../../domain/uuid.ts";
import { ModelPortal } from "../../../test/simulation/model-store/portal.ts";
import type { FeatureContext } from "../services.ts";
import { PortalSessions } from "./portal-sessions.ts";

const admin = { tenantId: null };
const minuteMs = 60_000;

/** Two processes with one store and a manual clock. */
function open() {
  const store = new ModelPortal();
  const clock = { time: Date.UTC(2026, 0, 1), now: () => clock.time };
  const bytes = (count: number) => randomBytes(count);
  const ids = createUuidV7Source(() => clock.time, bytes);
  const settings = async () => ({ origins: null, capabilities: ["endpoints:read"] as const });
  const context = {
    store: { portal: store },
    clock,
    random: { bytes },
    tenants: { has: (id: string) => id === "acme" },
    access: { nextId: () => ids.next(), webhook: () => undefined, refresh: async () => undefined },
  } as unknown as FeatureContext;
  const make = () => new PortalSessions(context, { settings });
  return { clock, here: make(), there: make() };
}

async function enter(sessions: PortalSessions, input: object = {}): Promise<string> {
  const { code } = await sessions.create(admin, { tenantId: "acme", ...input });
  const redeemed = await sessions.redeem(code);
  assert.ok(redeemed !== null);
  return redeemed.token;
}

suite("portal sessions", () => {
  test("any process accepts a code, once and within a minute, and any process knows the token", async () => {
    const { clock, here, there } = open();
    const { code } = await here.create(admin, { tenantId: "acme", reference: "ada" });
    const redeemed = await there.redeem(code);
    assert.match(redeemed?.token ?? "", /^phs_[\w-]{43}$/);
    assert.equal(await here.redeem(code), null);
    const holder = await here.holderOf(redeemed?.token ?? "");
    assert.deepEqual([holder?.role, holder?.tenantId, holder?.portal?.reference], ["session", "acme", "ada"]);
    const late = await here.create(admin, { tenantId: "acme" });
    clock.time += minuteMs;
    assert.equal(await here.redeem(late.code), null);
    for (const wrong of ["", "x", "y".repeat(10_000)]) assert.equal(await here.redeem(wrong), null);
    for (const wrong of ["phs_", "phs_x", `phs_${"y".repeat(10_000)}`])
      assert.equal(await here.holderOf(wrong), null);
  });

  test("a session is ended by time, by id and by reference", async () => {
    const { clock, here } = open();
    const short = await enter(here, { expiresInSeconds: 60 });
    const [one, named, other] = [
      await enter(here),
      await enter(here, { reference: "ada" }),
      await enter(here, { reference: "bob" }),
    ];
    const id = (await here.holderOf(one))?.keyId ?? "";
    await here.end(admin, id);
    await here.end(admin, id);
    assert.equal(await here.holderOf(one), null);
    assert.equal(await here.revoke(admin, { tenantId: "acme", reference: "ada" }), 1);
    assert.equal(await here.holderOf(named), null);
    assert.notEqual(await here.holderOf(other), null);
    assert.equal(await here.count(), 2);
    clock.time += minuteMs;
    assert.equal(await here.holderOf(short), null);
    assert.equal(await here.count(), 1);
  });

  test("other processes learn of an ended session at once, or within a minute if the message was lost", async () => {
    const { clock, here, there } = open();
    const [heard, unheard] = [await enter(here), await enter(here)];
    for (const token of [heard, unheard]) assert.notEqual(await there.holderOf(token), null);
    await here.end(admin, (await here.holderOf(heard))?.keyId ?? "");
    there.forget();
    assert.equal(await there.holderOf(heard), null);
    assert.notEqual(await there.holderOf(unheard), null);
    await here.end(admin, (await here.holderOf(unheard))?.keyId ?? "");
    clock.time += minuteMs;
    assert.equal(await there.holderOf(unheard), null);
  });

  test("the rights of a session are those it names, else those in the settings", async () => {
    const { here } = open();
    const token = await enter(here);
    assert.deepEqual([...((await here.holderOf(token))?.portal?.capabilities ?? [])], ["endpoints:read"]);
    const named = await enter(here, { capabilities: [] });
    assert.deepEqual([...((await here.holderOf(named))?.portal?.capabilities ?? ["?"])], []);
  });

  test("a tenant creates and ends only its own sessions", async () => {
    const { here } = open();
    const { session } = await here.create(admin, { tenantId: "acme" });
    await assert.rejects(here.end({ tenantId: "beta" }, session.id), { code: "not_found" });
    await assert.rejects(here.create({ tenantId: "beta" }, { tenantId: "acme" }), {
      code: "invalid_request",
    });
    await assert.rejects(here.create(admin, { tenantId: "nobody" }), { code: "invalid_request" });
    await assert.rejects(here.create(admin, { tenantId: "acme", webhookIds: [session.id] }), {
      code: "invalid_request",
    });
  });
});
