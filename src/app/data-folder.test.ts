import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

/** A user ID that owns no files. */
const otherUid = 54_321;

/** Prepares the folder in a process of another user. Returns the error, or null if that user may use the folder. */
function problemFor(folder: string): string | null {
  const program = `import { prepareDataFolder } from ${JSON.stringify(join(import.meta.dirname, "data-folder.ts"))};
    prepareDataFolder(${JSON.stringify(folder)});`;
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
    uid: otherUid,
    gid: otherUid,
    encoding: "utf8",
  });
  return status === 0 ? null : stderr;
}

test("a folder that another user owns is refused with folder, owner and the user of the process", (t) => {
  if (process.getuid?.() !== 0) return t.skip("only root can run a process as another user");
  const folder = mkdtempSync(join(tmpdir(), "posthorn-folder-"));
  t.after(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o755);
  assert.match(
    problemFor(folder) ?? "",
    new RegExp(
      `${folder} belongs to 0:0 with mode 755.*runs as ${otherUid}:${otherUid}.*chown -R ${otherUid}:${otherUid} ${folder}`,
    ),
  );

  chmodSync(folder, 0o777);
  assert.equal(problemFor(folder), null);
  writeFileSync(join(folder, "posthorn.db"), "", { mode: 0o644 });
  assert.match(problemFor(folder) ?? "", /posthorn\.db belongs to 0:0 with mode 644/);
  chmodSync(join(folder, "posthorn.db"), 0o666);
  writeFileSync(join(folder, "master.key"), "", { mode: 0o600 });
  assert.match(problemFor(folder) ?? "", /master\.key belongs to 0:0 with mode 600/);
});
