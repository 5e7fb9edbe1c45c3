import assert from "node:assert/strict";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { posthorn, posthornHere, temporaryFolder } from "./command-line.fixture.ts";
import type { Args, RunOptions } from "./command-line.fixture.ts";

async function fails(
  args: Args,
  expected: { readonly status: number; readonly says: RegExp },
  options: RunOptions = {},
) {
  // These commands start a server or read its folder, and change the process in which they run.
  const run = args[0] === "serve" || args[0] === "backup" ? posthorn : posthornHere;
  const { status, stdout, stderr } = await run(args, options);
  assert.equal(status, expected.status, stderr);
  assert.match(stderr, expected.says);
  assert.equal(stdout, "", "errors do not go to standard output");
  assert.doesNotMatch(stderr, /\n {4}at /, "a mistake of a person shows no stack");
}

const withKey = { env: { POSTHORN_KEY: "phk_x", POSTHORN_URL: "http://127.0.0.1:65001" } };

suite("mistakes that newcomers make", () => {
  test("a misspelt command or flag", async () => {
    await fails(["evnts"], { status: 2, says: /Did you mean events\?/ });
    await fails(["serve", "--prot", "1"], { status: 2, says: /Did you mean --port\?/ });
    await fails(["webhooks", "creat"], { status: 2, says: /Did you mean create\?/ });
    await fails(["events", "get"], {
      status: 2,
      says: /missing required argument 'event-id'\nSee: posthorn events get --help/,
    });
  });

  test("no server is running", async () => {
    await fails(["events", "list"], { status: 1, says: /no server is running at[^]*npm start/ }, withKey);
  });

  test("another service responds at the address", async () => {
    await fails(
      ["events", "list", "--url", "not a url"],
      { status: 2, says: /is not a valid server URL/ },
      withKey,
    );
    await fails(
      ["events", "list", "--url", "http://127.0.0.1:8080/v1"],
      { status: 2, says: /must not contain \/v1: use http:\/\/127\.0\.0\.1:8080/ },
      withKey,
    );
  });

  test("data that is not JSON, or not an object", async () => {
    await fails(["publish", "a.b", "{a:1}"], { status: 2, says: /the data is not valid JSON/ }, withKey);
    await fails(["publish", "a.b", "[1]"], { status: 2, says: /must be a JSON object/ }, withKey);
    await fails(["publish", "a.b", "-"], { status: 2, says: /standard input is not valid JSON/ }, withKey);
  });

  test("invalid option values", async () => {
    await fails(
      ["events", "list", "--limit", "many"],
      { status: 2, says: /--limit takes a number, not "many"/ },
      withKey,
    );
    await fails(["listen", "--status", "99"], { status: 2, says: /--status takes 200 to 599/ });
    await fails(["listen", "--port", "99999"], { status: 2, says: /--port takes 0 to 65535/ });
    await fails(["listen", "--forward-to", "ftp://x"], { status: 2, says: /--forward-to takes a URL/ });
    await fails(["listen", "--secret", "whsec_canary"], { status: 2, says: /--secret: (?!.*canary)/ });
    await fails(["webhooks", "circuit", "1", "explode"], { status: 2, says: /reset, open, close/ }, withKey);
  });

  test("all invalid settings are reported together", async () => {
    const env = {
      POSTHORN_PROT: "1",
      POSTHORN_WORKER_POOL: "Big Customers",
      POSTHORN_MASTER_KEY: "canary",
    };
    const { status, stderr } = await posthorn(["serve", "--port", "x"], { env });
    assert.equal(status, 2);
    assert.match(stderr, /3 settings are invalid; nothing was started/);
    assert.doesNotMatch(stderr, /canary/);
    await fails(["serve", "--dev", "--host", "0.0.0.0"], {
      status: 2,
      says: /--dev \(flag\) and --host \(flag\)/,
    });
    await fails(["serve", "--config", "/does/not/exist"], { status: 2, says: /file not found/ });
  });

  test("keys and folders that do not match", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "file");
    writeFileSync(file, "");
    await fails(["serve", "--data-dir", file], { status: 1, says: /it is a file, not a folder/ });
    const dataDir = join(folder.path, "data");
    const env = { POSTHORN_MASTER_KEY: "canary" };
    await fails(
      ["serve", "--data-dir", dataDir],
      { status: 1, says: /POSTHORN_MASTER_KEY is not a valid master key(?!.*canary)/ },
      { env },
    );
    await fails(["backup", join(folder.path, "copy.db"), "--data-dir", dataDir], {
      status: 1,
      says: /does not contain a database/,
    });
    mkdirSync(dataDir, { recursive: true });
    writeFileSync(join(dataDir, "posthorn.db"), "");
    await fails(["backup", file, "--data-dir", dataDir], {
      status: 1,
      says: /posthorn: backup failed: .*file already exists/,
    });
    chmodSync(file, 0o600);
  });

  test("help is there for every command, and is data", async () => {
    const { status, stdout } = await posthornHere(["--help"]);
    assert.equal(status, 0);
    for (const name of [
      "serve",
      "publish",
      "webhooks",
      "dlq",
      "listen",
      "demo",
      "migrate",
      "backup",
      "config",
      "recover",
    ]) {
      assert.match(stdout, new RegExp(`^ {2}${name}\\b`, "m"));
    }
    const inner = await posthornHere(["webhooks", "create", "--help"]);
    assert.equal(inner.status, 0);
    assert.equal((await posthornHere(["help", "webhooks", "create"])).stdout, inner.stdout);
    assert.match((await posthorn(["--version"])).stdout, /^\d+\.\d+\.\d+/);
    assert.equal((await posthornHere([])).status, 2);
  });
});
