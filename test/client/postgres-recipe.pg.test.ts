import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { pathToFileURL } from "node:url";
import { test } from "node:test";
import { promisify } from "node:util";
import { codeBlocks, root } from "../packages/built-package.fixture.ts";
import { openOwnSchema } from "../receiver/own-schema.fixture.ts";
import { openServer } from "../scenarios/api/running-server.fixture.ts";

const entries = {
  "@posthorn/client/outbox/postgres": "src/client/outbox/postgres-store.ts",
  "@posthorn/client/outbox": "src/client/outbox/index.ts",
  "@posthorn/client": "src/client/index.ts",
};

test("postgres-outbox.js of the page of @posthorn/client publishes what its transaction committed", async (t) => {
  const { pool, drop, url } = await openOwnSchema();
  t.after(drop);
  const server = await openServer();
  t.after(() => server.close());
  let code = codeBlocks("packages/client/README.md", "js").find((block) =>
    block.startsWith("// postgres-outbox.js"),
  );
  assert.ok(code !== undefined);
  for (const [name, path] of Object.entries(entries))
    code = code.replaceAll(`"${name}"`, JSON.stringify(pathToFileURL(`${root}/${path}`).href));
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: url, POSTHORN_URL: server.baseUrl, POSTHORN_KEY: server.adminKey },
  });
  assert.equal(stdout, "published 1\n");
  assert.equal((await pool.query("SELECT id FROM orders")).rowCount, 1);
});
