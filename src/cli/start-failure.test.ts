import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreUnavailableError } from "../ports/store.ts";
import { CommandFailure } from "./failures.ts";
import { startFailure } from "./start-failure.ts";

/** What the system throws. */
function refusal(code: string, more: object): Error {
  return Object.assign(new Error(`${code}: operation failed, open`), { code, syscall: "open", ...more });
}

test("a file or folder that the system refuses is named with why in words, and with what to do", () => {
  const cases = [
    ["EACCES", "permission denied"],
    ["EPERM", "not permitted"],
    ["EROFS", "the file system is read-only"],
  ] as const;
  for (const [code, words] of cases) {
    const failure = startFailure(refusal(code, { path: "/srv/posthorn/admin.key" }), "nothing was copied");
    assert.ok(failure instanceof CommandFailure);
    assert.equal(failure.message, `nothing was copied: /srv/posthorn/admin.key: ${words}`);
    assert.match(failure.hints.join(), /needs to write there; or use another folder: --data-dir/);
  }
});

test("a start on a full disk says that it ended, and what to do", () => {
  const store = new StoreUnavailableError("the disk is full", { trouble: "disk_full" });
  for (const error of [store, refusal("ENOSPC", { path: "/srv/posthorn/admin.key" })]) {
    const failure = startFailure(error);
    assert.ok(failure instanceof CommandFailure);
    assert.match(failure.message, /^cannot start: .*(disk .* is full|no space is left)$/);
    assert.deepEqual(failure.hints, ["Free some space or make the disk larger, then run the command again."]);
    assert.doesNotMatch(failure.message, /automatically/);
  }
});

test("a port that needs more rights is no matter of folders", () => {
  const failure = startFailure(refusal("EACCES", { port: 80 }));
  assert.ok(failure instanceof CommandFailure);
  assert.equal(failure.message, "port 80 needs more rights than this user has");
  assert.doesNotMatch(failure.hints.join(), /folder/);
});
