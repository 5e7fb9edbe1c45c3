import assert from "node:assert/strict";
import { test } from "node:test";
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
    ["ENOSPC", "no space is left"],
  ] as const;
  for (const [code, words] of cases) {
    const failure = startFailure(refusal(code, { path: "/srv/posthorn/admin.key" }), "nothing was copied");
    assert.ok(failure instanceof CommandFailure);
    assert.equal(failure.message, `nothing was copied: /srv/posthorn/admin.key: ${words}`);
    assert.match(failure.hints.join(), /needs to write there; or use another folder: --data-dir/);
  }
});

test("a port that needs more rights is no matter of folders", () => {
  const failure = startFailure(refusal("EACCES", { port: 80 }));
  assert.ok(failure instanceof CommandFailure);
  assert.equal(failure.message, "port 80 needs more rights than this user has");
  assert.doesNotMatch(failure.hints.join(), /folder/);
});
