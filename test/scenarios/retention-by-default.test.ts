/** Default retention of events, tested with programs whose clocks are set to different days. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const library = join(import.meta.dirname, "../../src/app/library.ts");
const dayMs = 86_400_000;

/** Runs `program` with `posthorn` opened on the folder, and with a clock set back by this many days. */
function run(dataDir: string, daysAgo: number, program: string): string {
  const text = `
    const RealDate = Date;
    const now = () => RealDate.now() - ${daysAgo * dayMs};
    globalThis.Date = new Proxy(RealDate, {
      construct: (target, given) => Reflect.construct(target, given.length === 0 ? [now()] : given),
      get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
    });
    const { openPosthorn } = await import(${JSON.stringify(library)});
    const posthorn = await openPosthorn({ dataDir: ${JSON.stringify(dataDir)} });
    ${program}
    await posthorn.close();`;
  const options = ["--conditions=posthorn-source", "--input-type=module", "--eval", text];
  return execFileSync(process.execPath, options, { encoding: "utf8", timeout: 60_000 });
}

test("TS16-119 WDS-224 by default payloads are kept for exactly 30 days and history for 90", (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "posthorn-retention-"));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const ages = [91, 89, 31, 29];
  // Starts with the oldest day, because each start deletes data that is too old on its own day.
  const ids = ages.map((age) =>
    run(
      dataDir,
      age,
      'console.log((await posthorn.publish({ eventType: "order.paid", data: { n: 1 } })).id);',
    ).trim(),
  );
  const [ended, forgotten] = [ids[0], ids[2]];
  // Upkeep runs in the background, so the program waits until it is done.
  const left = run(
    dataDir,
    0,
    `for (;;) {
      const { rows } = await posthorn.events.list({ limit: 10 });
      const kept = new Map();
      for (const { id } of rows) kept.set(id, (await posthorn.events.get(id)).body !== null);
      if (!kept.has(${JSON.stringify(ended)}) && kept.get(${JSON.stringify(forgotten)}) === false) {
        console.log(JSON.stringify([...kept]));
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }`,
  );
  assert.deepEqual(JSON.parse(left), [
    [ids[3], true],
    [ids[2], false],
    [ids[1], false],
  ]);
});
