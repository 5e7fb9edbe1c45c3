import assert from "node:assert/strict";
import { test } from "node:test";
import { DispatchScene } from "../dispatch/dispatch-scene.fixture.ts";
import { paces } from "./pace.ts";

test("how an endpoint answered last is known after a restart and to its next owner", () => {
  for (const pace of paces) {
    const scene = new DispatchScene({});
    const before = scene.endpoint("before", { pace });
    const after = scene.endpoint("after", { pace: "unknown" });
    after.restore(before.state());
    assert.equal(after.pace, pace);
  }
});

test("of an endpoint that an earlier version wrote down nothing is known", () => {
  const scene = new DispatchScene({});
  const { health, ...rest } = scene.endpoint("before").state();
  const { pace: _, ...known } = JSON.parse(health ?? "") as Record<string, unknown>;
  const after = scene.endpoint("after");
  after.restore({ ...rest, health: JSON.stringify(known) });
  assert.equal(after.pace, "unknown");
});
