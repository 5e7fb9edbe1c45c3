import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { missingProgram } from "../../scripts/checks.ts";
import { removeThrowaways, server } from "../../scripts/services.ts";

const nowhere = "redis://127.0.0.1:1";
const about = { mark: "redis", name: "Redis", remedy: "install it", fallback: nowhere };

suite("a server that tests need and that does not run", () => {
  test("is started for the run, and removed after it", async () => {
    let removed = 0;
    const remove = async () => void (removed += 1);
    const start = async () => ({ url: "redis://127.0.0.1:2", remove });
    const service = server({ ...about, variable: "POSTHORN_TEST_NOT_SET", start });
    assert.deepEqual(await service.find(), { at: "redis://127.0.0.1:2", isReachable: true });
    await removeThrowaways();
    await removeThrowaways();
    assert.equal(removed, 1);
  });

  test("is reported as missing if its program is, unlike a program that does not start", async () => {
    const find = (message: string) => {
      const start = () => Promise.reject(new Error(message));
      return server({ ...about, variable: "POSTHORN_TEST_NOT_SET", start }).find();
    };
    assert.equal((await find("spawn redis-server ENOENT")).problem, "it is neither running nor installed");
    assert.match((await find("port in use")).problem ?? "", /installed, but did not start: port in use/);
  });

  test("is one line at the end of the run, with advice, and not a failure", () => {
    const { stdout, status } = npmTest("test/conformance/shared-state/redis.redis.test.ts");
    assert.equal(status, 0, stdout);
    assert.match(
      stdout,
      /\nRedis: 1 file skipped, nothing answers at redis:\/\/127\.0\.0\.1:1; to have them: install Redis .* or name one with POSTHORN_TEST_REDIS_URL\n\n0 passed, 0 failed, 1 skipped\n$/,
    );
  });
});

suite("what npm test cannot run", () => {
  test("a name that no test has is a failure", () => {
    const { stdout, status } = npmTest("src/domain/closest-name.test.ts", "--name", "no such title");
    assert.equal(status, 1);
    assert.match(stdout, /no test has this name\n\n0 passed, 1 failed\n$/);
  });

  test("a suite is refused with the test files that run it", () => {
    const { stderr, status } = npmTest("test/conformance/store/state-machine.suite.ts");
    assert.equal(status, 2);
    assert.match(
      stderr,
      /state-machine\.suite\.ts: not a test file; run one that imports it: .*store\/postgres\.pg\.test\.ts/,
    );
  });

  test("a path that does not exist is refused", () => {
    assert.match(npmTest("src/domain/no-such.test.ts").stderr, /no-such\.test\.ts: no such file or folder/);
  });
});

function npmTest(...args: readonly string[]) {
  const env = { ...process.env, POSTHORN_TEST_REDIS_URL: nowhere };
  const { CI: _, NODE_TEST_CONTEXT: __, ...quiet } = env as Record<string, string | undefined>;
  return spawnSync(process.execPath, ["scripts/test.ts", ...args], { encoding: "utf8", env: quiet });
}

suite("a tool with a program compiled for each platform", () => {
  test("is skipped with the command to install it, if npm did not install it", () => {
    const root = mkdtempSync(join(tmpdir(), "posthorn-programs-"));
    try {
      const own = `@tool/cli-${process.platform}-${process.arch}`;
      const folder = join(root, "node_modules", "tool");
      mkdirSync(folder, { recursive: true });
      const manifest = {
        version: "1.0.0",
        optionalDependencies: { "@tool/cli-amiga-m68k": "1.0.0", [own]: "1.0.0" },
      };
      writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
      assert.equal(
        missingProgram("tool/bin/tool", root),
        `tool has no program for ${process.platform}-${process.arch} here; to have it: npm install --no-save ${own}@1.0.0`,
      );
      mkdirSync(join(root, "node_modules", own), { recursive: true });
      assert.equal(missingProgram("tool/bin/tool", root), null);
      assert.match(missingProgram("@other/tool/bin/tool", root) ?? "", /@other\/tool is not installed/);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});
