import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { profiles } from "../../src/core/profiles/index.ts";
import { frameworks } from "../receiver/frameworks.ts";
import { examine, failuresOf, idsOf } from "./check/examine.ts";
import { kitReceiver } from "./check/kit-receiver.ts";
import { authentication, otherSchemes } from "./check/planted-faults.ts";
import { manners } from "./check/planted-manners.ts";
import { startSloppyReceiver } from "./check/sloppy-receiver.ts";

suite("posthorn check: a receiver made with the kit is correct", { concurrency: 2 }, () => {
  for (const framework of frameworks) {
    for (const { name: profile } of profiles) {
      test(`${framework.name} under ${profile}: no rule fails, and none is left out`, async () => {
        const server = await framework.start(kitReceiver(profile));
        try {
          const findings = await examine({ url: `${server.url}/app/hooks`, profile });
          assert.equal(failuresOf(findings), "");
          assert.deepEqual(idsOf(findings, "skipped"), []);
          assert.ok(idsOf(findings, "passed").length >= 25, "a check that tries little proves little");
        } finally {
          await server.close();
        }
      });
    }
  }
});

suite("posthorn check: a planted fault fails its own rule and no other", { concurrency: 4 }, () => {
  for (const planted of [...authentication, ...otherSchemes, ...manners]) {
    const { name, profile = "standard", fails, skips = [], receiver = {} } = planted;
    test(name, async () => {
      const sloppy = await startSloppyReceiver({ profile, ...planted, fault: planted.fault() });
      try {
        const findings = await examine({ url: sloppy.url, profile, receiver });
        assert.deepEqual(idsOf(findings, "failed"), fails, failuresOf(findings));
        assert.deepEqual(idsOf(findings, "skipped"), skips);
        for (const { state, hint } of findings) if (state === "failed") assert.ok(hint !== null && hint !== "");
      } finally {
        await sloppy.close();
      }
    });
  }
});
