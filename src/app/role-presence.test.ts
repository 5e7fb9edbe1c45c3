import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../engine/manual-clock.fixture.ts";
import { RolePresence, roleWarnings } from "./role-presence.ts";

/** Stores leaderships like the real store, on the test's clock. */
function deployment() {
  const clock = new ManualClock();
  const until = new Map<string, { owner: string; at: number }>();
  const ownership = {
    acquireLeadership: async (name: string, owner: string, forMs: number) => {
      const now = clock.monotonicMs();
      const held = until.get(name);
      if (held !== undefined && held.owner !== owner && held.at > now) return false;
      until.set(name, { owner, at: now + forMs });
      return true;
    },
    leaderships: async () =>
      new Set([...until].filter(([, { at }]) => at > clock.monotonicMs()).map(([name]) => name)),
  };
  const logged: string[] = [];
  const nothing = (): void => undefined;
  const log = {
    debug: nothing,
    info: nothing,
    error: nothing,
    warn: (_: object, text: string) => void logged.push(text),
  };
  const open = (owner: string, roles: readonly string[]) => {
    const presence = new RolePresence({ roles, ownership, owner, clock, log });
    presence.start({ hasSources: () => true, hasChannels: async () => true });
    return presence;
  };
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 5_000) {
      clock.advance(5_000);
      for (let turn = 0; turn < 8; turn += 1) await clock.turn();
    }
  };
  return { open, pass, logged, clock, log };
}

test("one process warns once an hour about features whose role no process has run for two minutes", async () => {
  const { open, pass, logged } = deployment();
  const first = open("first", ["api"]);
  const second = open("second", ["api"]);
  await pass(100_000);
  assert.deepEqual(first.warnings(), [], "a deployment may still be starting");
  await pass(40_000);
  assert.deepEqual(second.warnings(), [roleWarnings.gateway, roleWarnings.scheduler]);
  assert.deepEqual(logged, [roleWarnings.gateway, roleWarnings.scheduler]);
  await pass(3_000_000);
  assert.equal(logged.length, 2);
  await pass(1_000_000);
  assert.equal(logged.length, 4);
});

test("one process with the role is enough, and its end is noticed", async () => {
  const { open, pass, logged } = deployment();
  const api = open("api", ["api"]);
  const gateways = [open("g1", ["gateway", "scheduler"]), open("g2", ["gateway", "scheduler"])];
  await pass(600_000);
  assert.deepEqual(api.warnings(), []);
  await gateways[0]?.stop();
  await pass(600_000);
  assert.deepEqual(api.warnings(), [], "the other one took over");
  await gateways[1]?.stop();
  await pass(600_000);
  assert.deepEqual(api.warnings(), [roleWarnings.gateway, roleWarnings.scheduler]);
  assert.equal(logged.length, 2);
});

test("with a single process, its roles decide at once", async () => {
  const { clock, log } = deployment();
  const alone = (roles: readonly string[]) => new RolePresence({ roles, owner: "it", clock, log });
  assert.equal(alone(["api", "gateway"]).isMissing("gateway"), false);
  assert.equal(alone(["api"]).isMissing("gateway"), true);
});
