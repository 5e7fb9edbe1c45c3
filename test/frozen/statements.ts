// Records the stores' statements, with their values and rows, while the conformance suites run, and replays them later.
// docs/notes/frozen-proofs.md lists the commands.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { databaseFile, openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { Store } from "../../src/ports/store.ts";
import { start } from "../conformance/store/scene.fixture.ts";
import { storeConformance } from "../conformance/store/store.suite.ts";
import type { OpenStore, StoreSubject } from "../conformance/store/store.suite.ts";
import { FreshPostgres, openStoreAt } from "./fresh-postgres.ts";
import { assertFrozen, rename, renamesOf } from "./golden.ts";
import { plansOf } from "./plans.ts";
import { decode, encode, recordPostgres, recordSqlite, type RecordedTest, type Unit } from "./recorder.ts";
import { replayTests } from "./replay.ts";

const [command = "", ...args] = process.argv.slice(2);
const commands: Readonly<Record<string, () => Promise<void> | void>> = { record, replay, compare, plans };
const differencesShown = 20;
const chosen = commands[command];
if (chosen === undefined) throw new Error(`the command is one of ${Object.keys(commands).join(", ")}`);
await chosen();

/**
 * `record sqlite|postgres FILE`: records statements. Those whose results depend on time or chance cannot be replayed
 * and are marked.
 */
async function record(): Promise<void> {
  const [store = "", file = ""] = args;
  assert.ok((store === "sqlite" || store === "postgres") && file !== "", "record sqlite|postgres FILE");
  const tests: RecordedTest[] = [];
  const onOpen = () => tests.push({ store, units: [] });
  let isRecording = true;
  const onUnit = (unit: Unit): void => {
    if (isRecording) tests.at(-1)?.units.push(unit);
  };
  const subject = await (store === "sqlite" ? sqliteSubject : postgresSubject)(onOpen);
  if (store === "postgres") recordPostgres(onUnit);
  else recordSqlite(onUnit, (location) => location === currentFile);
  storeConformance(subject, { without: ["model", "large events"] });
  after(async () => {
    isRecording = false;
    const all = tests.flatMap(({ units }) => units.flatMap(({ statements }) => statements));
    const texts = new Map<string, string>();
    await replayTests(tests, (statement, difference) => {
      statement.varies = true;
      texts.set(statement.sql, difference);
    });
    write(file, tests);
    for (const difference of texts.values()) print(difference.slice(0, 600));
    print(
      `${tests.length} tests, ${all.length} statements, ${new Set(all.map(({ sql }) => sql)).size} different texts`,
    );
    print(
      `${all.filter(({ varies }) => varies).length} statements of ${texts.size} texts vary and are not compared`,
    );
  });
}

/**
 * `replay FILE`: replays the statements on databases with the current schema, after applying the renames of
 * `statements`.
 */
async function replay(): Promise<void> {
  const tests = read(args[0] ?? "", renamesOf("statements"));
  let different = 0;
  await replayTests(tests, (_, difference) => {
    different += 1;
    if (different <= differencesShown) print(difference);
  });
  print(`${tests.length} tests replayed, ${different} statements differ`);
  process.exitCode = different === 0 ? 0 : 1;
}

/** `compare OLD NEW`: compares two recordings result by result, even if statements were renamed. */
function compare(): void {
  const [old = "", now = ""] = args;
  const results = (file: string) =>
    read(file, file === old ? renamesOf("statements") : {}).map(({ units }) =>
      units.flatMap(({ statements }) =>
        statements.map(({ sql, values, result, varies }) => encode([sql, values, varies ? null : result])),
      ),
    );
  const [before, after_] = [results(old), results(now)];
  assert.equal(after_.length, before.length, "tests");
  const different = before.findIndex((one, at) => one.join("\n") !== after_[at]?.join("\n"));
  if (different < 0) return print(`${before.length} tests are equal`);
  const [one = [], other = []] = [before[different], after_[different]];
  const at = one.findIndex((line, index) => line !== other[index]);
  print(`test ${different}, statement ${at}:\n- ${one[at] ?? "(none)"}\n+ ${other[at] ?? "(none)"}`);
  process.exitCode = 1;
}

/** `plans FILE`: compares the statements of a recording and their plans with the golden file. */
async function plans(): Promise<void> {
  const tests = read(args[0] ?? "", {});
  const store = tests[0]?.store ?? "sqlite";
  const texts = tests.flatMap(({ units }) =>
    units.flatMap(({ statements }) => statements.map(({ sql }) => sql)),
  );
  assertFrozen(`plans-${store}.txt`, await plansOf(store, texts));
  print(`the plans of ${store} are as frozen`);
}

// ---- stores ------------------------------------------------------------------------------------------------------

let currentFile = "";

async function sqliteSubject(onOpen: () => void): Promise<StoreSubject> {
  return {
    name: "sqlite",
    cannotShare: "one owner per data folder",
    open: async () => {
      const dataDir = await mkdtemp(join(tmpdir(), "posthorn-frozen-"));
      currentFile = databaseFile(dataDir);
      onOpen();
      return reopening(
        () => openSqliteStore({ dataDir, now: start, pid: 1 }),
        () => rm(dataDir, { recursive: true }),
      );
    },
  };
}

async function postgresSubject(onOpen: () => void): Promise<StoreSubject> {
  const fresh = new FreshPostgres();
  after(() => fresh[Symbol.asyncDispose]());
  await fresh.open();
  return {
    name: "postgres",
    cannotShare: "several processes are not deterministic",
    open: async () => {
      const url = await fresh.open();
      onOpen();
      return reopening(
        () => openStoreAt(url),
        async () => undefined,
      );
    },
  };
}

async function reopening(open: () => Promise<Store>, clean: () => Promise<void>): Promise<OpenStore> {
  let store = await open();
  return {
    store,
    reopen: async () => {
      await store.close();
      store = await open();
      return store;
    },
    cleanup: async () => {
      await store.close();
      await clean();
    },
  };
}

// ---- files -------------------------------------------------------------------------------------------------------

function write(file: string, tests: readonly RecordedTest[]): void {
  writeFileSync(file, gzipSync(tests.map((one) => `${encode(one)}\n`).join(""), { level: 9 }));
}

function read(file: string, renames: Readonly<Record<string, string>>): readonly RecordedTest[] {
  const text = gunzipSync(readFileSync(file)).toString("utf8");
  return rename(text, renames)
    .trimEnd()
    .split("\n")
    .map((line) => decode(line) as RecordedTest);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
