// The gateway is killed 50 times while senders repeat their messages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { killGateway } from "../gateway/kills.fixture.ts";

const seed = Number(process.env["POSTHORN_TEST_SEED"] ?? Date.now() % 1_000_000);

test(`EDS-9.7-6 EDS-9.7-7 50 kills of the gateway lose nothing that was answered or held (seed ${seed})`, async (t) => {
  const { answered, between, killsBetween, passed, requests } = await killGateway({ kills: 50, seed });
  assert.ok(killsBetween >= 5, `${killsBetween} kills fell between commit and answer`);
  const cutOff = `${between} of them to the repeat after ${killsBetween} kills between commit and answer`;
  t.diagnostic(`${answered} answered, ${cutOff}, ${requests} requests; ${passed} passed through`);
});
