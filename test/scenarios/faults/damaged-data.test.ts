import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually } from "../eventually.fixture.ts";
import { PosthornProcess, ServeRun } from "../posthorn-process.fixture.ts";
import { programEntry } from "../../services/program.fixture.ts";

async function start(t: TestContext): Promise<PosthornProcess> {
  const posthorn = await PosthornProcess.start();
  t.after(() => posthorn.remove());
  const made = await posthorn.call("POST", "/v1/webhooks", {
    url: "http://127.0.0.1:9/hook",
    events: ["order.*"],
    signing: { schemes: ["v1"] },
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return posthorn;
}

function publish(posthorn: PosthornProcess, eventType: string) {
  return posthorn.call("POST", "/v1/events", { event_type: eventType, data: { n: 1 } });
}

/**
 * Waits for a start to fail, and returns the output. Fails the test unless the process exits with status 1 and prints
 * no stack trace.
 */
async function failedStart(t: TestContext, posthorn: PosthornProcess): Promise<string> {
  const run = new ServeRun({
    POSTHORN_DEV: "true",
    POSTHORN_PORT: "0",
    POSTHORN_DATA_DIR: posthorn.dataDir,
  });
  t.after(() => run.end("SIGKILL"));
  await run.ended;
  assert.equal(await run.end("SIGKILL"), 1, run.output);
  assert.doesNotMatch(run.output, /^\s+at /m);
  return run.output;
}

/** Overwrites the file from this page on in a separate program, as a faulty disk or a careless copy would. */
function overwrite(posthorn: PosthornProcess, fromPage: number): void {
  const file = join(posthorn.dataDir, "posthorn.db");
  const pages = statSync(file).size / 8192 - fromPage;
  const options = ["bs=8192", `seek=${fromPage}`, `count=${pages}`, "conv=notrunc", "status=none"];
  execFileSync("dd", ["if=/dev/urandom", `of=${file}`, ...options]);
}

test("damage found at run time: publishing is rejected with the reason, /readyz says what to do, and a backup fixes it", async (t) => {
  const posthorn = await start(t);
  assert.equal((await publish(posthorn, "order.made")).status, 202);
  assert.equal(await posthorn.stop(), 0);
  const backup = join(posthorn.dataDir, "backup.db");
  copyFileSync(join(posthorn.dataDir, "posthorn.db"), backup);
  // Restarts the server, because pages that were read earlier stay cached for a while.
  await posthorn.start();
  overwrite(posthorn, 1);
  const refused = await eventually("damage is met", {
    ask: () => publish(posthorn, `order.n${Math.random().toString(36).slice(2)}`),
    holds: ({ status }) => status !== 202,
  });
  const { detail, code } = refused.body as { detail: string; code: string };
  assert.deepEqual({ status: refused.status, code }, { status: 503, code: "unavailable" });
  assert.match(detail, /database is damaged.*restore a backup/);
  const ready = await eventually("/readyz knows", {
    ask: () => posthorn.call("GET", "/readyz"),
    holds: ({ status }) => status === 503,
  });
  const { reasons, details } = ready.body as { reasons: string[]; details: string[] };
  assert.deepEqual(reasons, ["store_unavailable", "store_damaged"]);
  assert.match(details.join(), /database is damaged.*restore a backup/);
  assert.equal((await fetch(`${posthorn.url}/livez`)).status, 200);
  assert.equal(posthorn.hasEnded, false);
  await posthorn.kill();
  assert.match(await failedStart(t, posthorn), /cannot start: the database is damaged; .*restore a backup/);
  for (const name of ["posthorn.db-wal", "posthorn.db-shm"])
    rmSync(join(posthorn.dataDir, name), { force: true });
  renameSync(backup, join(posthorn.dataDir, "posthorn.db"));
  await posthorn.start();
  assert.equal((await publish(posthorn, "order.made")).status, 202);
});

test("a lost digest.key is rejected like a lost master key while secrets depend on it", async (t) => {
  const posthorn = await start(t);
  const path = join(posthorn.dataDir, "digest.key");
  const kept = `${path}.kept`;
  await posthorn.stop();
  renameSync(path, kept);
  const said = await failedStart(t, posthorn);
  assert.match(said, /cannot start: .*digest\.key is missing, .* restore it from a backup/);
  assert.throws(() => statSync(path), { code: "ENOENT" });
  copyFileSync(kept, path);
  await posthorn.start();
  await posthorn.stop();
  // Without a backup, an operator must confirm the new key.
  rmSync(path);
  const migrated = spawnSync(process.execPath, [programEntry, "migrate", "--new-digest-key"], {
    env: { ...process.env, POSTHORN_DATA_DIR: posthorn.dataDir },
    encoding: "utf8",
  });
  assert.equal(migrated.status, 0, migrated.stderr);
  assert.notEqual(readFileSync(path, "utf8"), readFileSync(kept, "utf8"));
  await posthorn.start();
});
