import assert from "node:assert/strict";
import type { NewPortalSession, PortalSession } from "../../../src/ports/store/portal.ts";
import { start } from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

const minuteMs = 60_000;
let made = 0;

function sessionOf(more: Partial<NewPortalSession> = {}): NewPortalSession {
  made += 1;
  return {
    id: `0198c3f2-7a4e-7c11-9d3e-${String(made).padStart(12, "0")}`,
    tenantId: "acme",
    capabilities: ["endpoints:read"],
    reference: "ada",
    webhookIds: null,
    origin: "https://app.example.com",
    locale: "de",
    theme: { accent: "#112233" },
    createdAt: start,
    expiresAt: start + 60 * minuteMs,
    redeemedAt: null,
    endedAt: null,
    codeHash: `code-${made}`,
    codeExpiresAt: start + minuteMs,
    ...more,
  };
}

function shown(session: NewPortalSession): PortalSession {
  const hidden = new Set(["codeHash", "codeExpiresAt"]);
  return Object.fromEntries(
    Object.entries(session).filter(([name]) => !hidden.has(name)),
  ) as unknown as PortalSession;
}

const everything = { tenantId: null, after: null, offset: 0, limit: 100 };

export const portal: StoreTheme = (check) => {
  check("a portal code is exchanged once, and only while it is valid", async (store) => {
    const session = sessionOf();
    await store.portal.createSession(session);
    const { codeHash } = session;
    assert.equal(await store.portal.sessionByToken("token"), null);
    assert.equal(await store.portal.redeem({ codeHash: "other", tokenHash: "token", at: start }), null);
    const late = { codeHash, tokenHash: "token", at: start + minuteMs };
    assert.equal(await store.portal.redeem(late), null);
    const expected = { ...shown(session), redeemedAt: start + 1 };
    const tries = ["token", "second"].map((tokenHash) =>
      store.portal.redeem({ codeHash, tokenHash, at: start + 1 }),
    );
    assert.deepEqual(await Promise.all(tries), [expected, null]);
    assert.deepEqual(await store.portal.sessionByToken("token"), expected);
    assert.deepEqual(await store.portal.session(session.id), expected);
    assert.equal(await store.portal.sessionByToken("second"), null);
  });

  check("portal sessions are ended singly or by reference, and then exchange no code", async (store) => {
    const sessions = [{}, {}, { reference: "bob" }, { tenantId: "beta" }].map((more) => sessionOf(more));
    for (const session of sessions) await store.portal.createSession(session);
    const [first, second, third, fourth] = sessions.map(({ id }) => id) as [string, string, string, string];
    const at = start + 5;
    assert.equal(await store.portal.countSessions("acme", at), 3);
    assert.deepEqual(await store.portal.endSessions({ id: first, at }), [first]);
    assert.deepEqual(await store.portal.endSessions({ id: first, at: at + 1 }), [], "once");
    const named = { tenantId: "acme", reference: "ada", at };
    assert.deepEqual(await store.portal.endSessions(named), [second]);
    assert.equal((await store.portal.session(first))?.endedAt, at);
    assert.equal(
      await store.portal.redeem({ codeHash: String(sessions[1]?.codeHash), tokenHash: "x", at }),
      null,
    );
    assert.equal(await store.portal.countSessions("acme", at), 1);
    assert.equal(await store.portal.countSessions(null, at), 2);
    assert.equal(await store.portal.countSessions(null, start + 61 * minuteMs), 0);
    const ids = (rows: readonly PortalSession[]) => rows.map(({ id }) => id);
    assert.deepEqual(ids(await store.portal.sessions(everything)), [fourth, third, second, first]);
    assert.deepEqual(ids(await store.portal.sessions({ ...everything, tenantId: "acme", limit: 2 })), [
      third,
      second,
    ]);
    assert.deepEqual(ids(await store.portal.sessions({ ...everything, after: third })), [second, first]);
    assert.deepEqual(ids(await store.portal.sessions({ ...everything, offset: 3 })), [first]);
  });

  check("long-ended portal sessions are deleted", async (store) => {
    const old = sessionOf();
    await store.portal.createSession(old);
    await store.portal.createSession(sessionOf({ createdAt: old.expiresAt + 86_400_001 }));
    assert.equal(await store.portal.session(old.id), null);
    assert.equal((await store.portal.sessions(everything)).length, 1);
  });

  check(
    "settings and images of the portal are stored for the deployment and for each tenant",
    async (store) => {
      assert.equal(await store.portal.settings(null), null);
      const deployment = {
        tenantId: null,
        theme: { radius: 3 },
        origins: [],
        capabilities: null,
        updatedAt: start,
      };
      const own = { ...deployment, tenantId: "acme", theme: { productName: "Ü\u0000" }, origins: null };
      await store.portal.saveSettings({ ...own, theme: null });
      await store.portal.saveSettings(deployment);
      await store.portal.saveSettings(own);
      assert.deepEqual(await store.portal.settings(null), deployment);
      assert.deepEqual(await store.portal.settings("acme"), own);
      const logo = { mediaType: "image/png", bytes: new Uint8Array([1, 0, 255]) } as const;
      const place = { tenantId: "acme", scheme: "dark" } as const;
      await store.portal.saveLogo(place, { ...logo, bytes: new Uint8Array(65_536) });
      await store.portal.saveLogo(place, logo);
      assert.deepEqual(await store.portal.logo(place), logo);
      assert.equal(await store.portal.logo({ ...place, tenantId: null }), null);
      assert.equal(await store.portal.logo({ ...place, scheme: "light" }), null);
      await store.portal.saveLogo(place, null);
      assert.equal(await store.portal.logo(place), null);
    },
  );
};
