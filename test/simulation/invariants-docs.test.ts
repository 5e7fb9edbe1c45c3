import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

const root = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** One numbered statement of docs/invariants.md. */
interface Statement {
  readonly id: string;
  readonly keptBy: readonly Reference[];
  readonly provedBy: readonly Reference[];
}

interface Reference {
  readonly path: string;
  readonly symbol: string;
}

const statements = readStatements(read("docs/invariants.md"));

describe("docs/invariants.md", () => {
  it("numbers its statements without gaps", () => {
    assert.deepEqual(
      statements.map(({ id }) => id),
      statements.map((_, index) => `I-${index + 1}`),
    );
  });

  for (const { id, keptBy, provedBy } of statements) {
    it(`${id} names code and a test that exist`, () => {
      assert.ok(keptBy.length > 0, "no code is named");
      assert.ok(provedBy.length > 0, "no test is named");
      for (const { path, symbol } of [...keptBy, ...provedBy]) {
        assert.match(read(path), new RegExp(`\\b${symbol}\\b`), `${path} does not contain ${symbol}`);
      }
      assert.ok(provedBy.every(({ path }) => path.startsWith("test/") || path.endsWith(".test.ts")));
    });
  }

  it("lists exactly the statements that the simulation checks", () => {
    const sources = globSync("test/simulation/**/*.ts", { cwd: root }).filter(
      (path) => !path.endsWith(".test.ts"),
    );
    const checked = new Set(
      sources.flatMap((path) => [...read(path).matchAll(/"(I-\d+)"/g)].map((match) => match[1])),
    );
    assert.deepEqual(
      [...checked].toSorted((a, b) => String(a).localeCompare(String(b))),
      statements.map(({ id }) => id).toSorted((a, b) => a.localeCompare(b)),
    );
  });
});

function readStatements(text: string): Statement[] {
  return text
    .split("\n\n")
    .filter((paragraph) => paragraph.startsWith("**I-"))
    .map((paragraph) => ({
      id: /^\*\*(I-\d+) /.exec(paragraph)?.[1] ?? paragraph,
      keptBy: referencesIn(/^Kept by: (.*)$/m.exec(paragraph)?.[1] ?? ""),
      provedBy: referencesIn(/^Proved by: (.*)$/m.exec(paragraph)?.[1] ?? ""),
    }));
}

function referencesIn(line: string): Reference[] {
  return [...line.matchAll(/`([^`]+)` \(`([^`]+)`\)/g)].map(([, path = "", symbol = ""]) => ({
    path,
    symbol,
  }));
}
