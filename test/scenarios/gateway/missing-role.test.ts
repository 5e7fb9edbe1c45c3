// A source in a deployment in which no process accepts messages from senders.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../eventually.fixture.ts";
import { PosthornProcess } from "../posthorn-process.fixture.ts";

const warning = /no process runs the gateway role, so .*add gateway to POSTHORN_ROLES/;

test("a warning about sources without the role gateway appears in their listing, in GET /v1/system and in the log", async (t) => {
  const posthorn = await PosthornProcess.start({ env: { POSTHORN_ROLES: "api,scheduler,worker" } });
  t.after(() => posthorn.kill());
  const made = await posthorn.call("POST", "/v1/sources", { name: "shop", verification: { type: "none" } });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const listed = (await posthorn.call("GET", "/v1/sources")).body as { data: { warnings: string[] }[] };
  assert.match(listed.data[0]?.warnings.join() ?? "", warning);
  const system = (await posthorn.call("GET", "/v1/system")).body as { warnings: string[] };
  assert.match(system.warnings.join(), warning);
  await eventually("the log says so", {
    ask: async () => posthorn.output,
    holds: (output) => warning.test(output),
    withinMs: 60_000,
  });
});
