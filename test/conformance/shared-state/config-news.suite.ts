import assert from "node:assert/strict";
import type { SharedState } from "../../../src/ports/shared-state.ts";
import type { ConfigChange, StoreChange } from "../../../src/ports/store/changes.ts";
import { eventually } from "../../scenarios/eventually.fixture.ts";
import type { SharedStateTheme } from "./shared-state.suite.ts";

const changes: readonly ConfigChange[] = [
  { kind: "webhooks", webhookIds: ["a", "b"] },
  { kind: "tenant_keys", tenantIds: ["ä"] },
  { kind: "tenants" },
  { kind: "api_keys" },
  { kind: "event_types" },
  { kind: "orders", webhookIds: [] },
];

function heardBy(state: SharedState): StoreChange[] {
  const heard: StoreChange[] = [];
  state.news.subscribe((change) => heard.push(change));
  return heard;
}

async function until(heard: readonly StoreChange[], wanted: number): Promise<void> {
  await eventually("news", { ask: async () => heard.length, holds: (length) => length >= wanted });
}

export const configNews: SharedStateTheme = (check) => {
  check("every other process receives an announcement, in order and unchanged", async (state, open) => {
    const others = [await open.openAnother(), await open.openAnother()];
    const heard = others.map(heardBy);
    for (const change of changes) await state.news.announce(change);
    for (const each of heard) {
      await until(each, changes.length);
      assert.deepEqual(
        each,
        changes.map((change) => ({ kind: "config", change })),
      );
    }
  });

  check("a process does not receive its own announcements", async (state, open) => {
    const other = await open.openAnother();
    const mine = heardBy(state);
    const theirs = heardBy(other);
    await state.news.announce({ kind: "tenants" });
    await until(theirs, 1);
    await other.news.announce({ kind: "api_keys" });
    await until(mine, 1);
    assert.deepEqual(mine, [{ kind: "config", change: { kind: "api_keys" } }]);
    assert.deepEqual(theirs, [{ kind: "config", change: { kind: "tenants" } }]);
  });

  check("an ended subscription receives nothing more, the others do", async (state, open) => {
    const other = await open.openAnother();
    const gone: StoreChange[] = [];
    const end = other.news.subscribe((change) => gone.push(change));
    const heard = heardBy(other);
    end();
    end();
    await state.news.announce({ kind: "tenants" });
    await until(heard, 1);
    assert.deepEqual(gone, []);
  });

  check("after a gap a process is notified that it may have missed something", async (state, open) => {
    const other = await open.openAnother();
    const heard = [heardBy(state), heardBy(other)];
    await open.interrupt();
    await assert.rejects(state.news.announce({ kind: "tenants" }), { name: "SharedStateUnavailableError" });
    await open.restore();
    for (const each of heard) {
      await until(each, 1);
      assert.deepEqual(each, [{ kind: "unknown" }]);
    }
    await eventually("the way back", { ask: async () => state.isAvailable, holds: Boolean });
    await state.news.announce({ kind: "tenants" });
    await until(heard[1] ?? [], 2);
    assert.deepEqual(heard[1]?.slice(1), [{ kind: "config", change: { kind: "tenants" } }]);
  });
};
