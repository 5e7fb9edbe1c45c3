import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreUnavailableError } from "../ports/store.ts";
import { CommandFailure, startFailure } from "./failures.ts";

/** An error of the operating system. */
function refusal(code: string, more: object): Error {
  return Object.assign(new Error(`${code}: operation failed, open`), { code, syscall: "open", ...more });
}

test("a refused file or folder is reported with reason and remedy", () => {
  const cases = [
    ["EACCES", "permission denied"],
    ["EPERM", "not permitted"],
    ["EROFS", "the file system is read-only"],
  ] as const;
  for (const [code, words] of cases) {
    const failure = startFailure(refusal(code, { path: "/srv/posthorn/admin.key" }), "backup failed");
    assert.ok(failure instanceof CommandFailure);
    assert.equal(failure.message, `backup failed: /srv/posthorn/admin.key: ${words}`);
    assert.match(failure.hints.join(), /Make it writable for this user, or use another folder: --data-dir/);
  }
});

test("a start on a full disk reports the failure and a remedy", () => {
  const store = new StoreUnavailableError("the disk is full", { trouble: "disk_full" });
  for (const error of [store, refusal("ENOSPC", { path: "/srv/posthorn/admin.key" })]) {
    const failure = startFailure(error);
    assert.ok(failure instanceof CommandFailure);
    assert.match(failure.message, /^cannot start: .*(disk .* is full|no space left)$/);
    assert.deepEqual(failure.hints, ["Free some disk space, then run the command again."]);
    assert.doesNotMatch(failure.message, /automatically/);
  }
});

test("a privileged port is reported without folder hints", () => {
  const failure = startFailure(refusal("EACCES", { port: 80 }));
  assert.ok(failure instanceof CommandFailure);
  assert.equal(failure.message, "port 80 requires more privileges");
  assert.doesNotMatch(failure.hints.join(), /folder/);
});
