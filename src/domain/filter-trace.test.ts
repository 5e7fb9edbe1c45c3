import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { suite, test } from "node:test";
import { seededNumbers } from "../../test/services/seeded-numbers.fixture.ts";
import {
  compileFilter,
  type FilteredMessage,
  masked,
  notKept,
  type PartlyKnownMessage,
  type TraceStep,
  type Unknown,
} from "./filter.ts";

const seed = Number(process.env["POSTHORN_TEST_SEED"] ?? randomInt(2 ** 31));

const message: FilteredMessage = {
  body: { action: "opened", n: 7, labels: ["bug", "ui"] },
  headers: { "x-event": "issues", "authorization": "Bearer a secret" },
  query: { test: "1" },
  path: "/shop",
};

function traced(filter: object, given: PartlyKnownMessage = message) {
  const trace: TraceStep[] = [];
  return { verdict: compileFilter(filter).examine(given, trace), trace };
}

suite("traces of filters", () => {
  test("every condition is listed with the value found, including conditions after the one that rejects", () => {
    const { verdict, trace } = traced({
      body: { action: "closed", n: { $gt: 6 } },
      query: { absent: { $exist: true } },
    });
    assert.equal(verdict, "body.action");
    assert.deepEqual(trace, [
      step({ path: "body.action", expected: '"closed"', actual: '"opened"', result: false }),
      step({ path: "body.n.$gt", operator: "$gt", expected: "6", actual: "7", result: true }),
      step({ path: "query.absent.$exist", operator: "$exist", expected: "true", result: false }),
    ]);
  });

  test("$or and $not come after their parts", () => {
    const { verdict, trace } = traced({
      $or: [{ path: "/a" }, { $not: { body: { n: 7 } } }, { path: "/shop" }],
    });
    assert.equal(verdict, null);
    assert.deepEqual(
      trace.map(({ path, result }) => [path, result]),
      [
        ["$or[0].path", false],
        ["$or[1].$not.body.n", true],
        ["$or[1].$not", false],
        ["$or[2].path", true],
        ["$or", true],
      ],
    );
  });

  test("masked values are shown as masked; values that were not stored may be anything", () => {
    const known: PartlyKnownMessage = {
      ...message,
      headers: { ...message.headers, authorization: masked },
      body: notKept,
    };
    const cases: readonly (readonly [object, string | null | undefined])[] = [
      [{ headers: { authorization: { $exist: true } } }, null],
      [{ headers: { authorization: { $exist: false } } }, "headers.authorization.$exist"],
      [{ headers: { authorization: { $startsWith: "Bearer" } } }, undefined],
      [{ $not: { headers: { authorization: "x" } } }, undefined],
      [{ body: { n: { $exist: true } } }, undefined],
      [{ body: { n: 7 }, path: "/other" }, "path"],
      [{ $or: [{ body: { n: 7 } }, { path: "/shop" }] }, null],
      [{ $or: [{ body: { n: 7 } }, { path: "/other" }] }, undefined],
      [{ headers: { "x-event": "issues" } }, null],
    ];
    for (const [filter, verdict] of cases)
      assert.equal(traced(filter, known).verdict, verdict, JSON.stringify(filter));
    const { trace } = traced({ headers: { authorization: "x" }, body: { n: 7 } }, known);
    assert.deepEqual(
      trace.map(({ actual, result, unknown }) => [actual, result, unknown]),
      [
        [null, null, "masked"],
        [null, null, "not_kept"],
      ],
    );
  });

  test("traces are short, even with a large filter or message", () => {
    const long = "x".repeat(10_000);
    const body = { long, many: Array.from({ length: 10_000 }, () => long), inner: { a: long } };
    const filter = {
      body: {
        long: { $neq: `${long}y` },
        many: { $in: ["a", ...Array.from({ length: 100 }, (_, n) => n)] },
        inner: { $exist: true },
        [long]: { $or: [{ $exist: false }] },
      },
    };
    const { trace } = traced(filter, { ...message, body });
    assert.ok(JSON.stringify(trace).length < 10_000, String(JSON.stringify(trace).length));
    assert.equal(trace[2]?.actual, "{…}");
    assert.equal(trace[1]?.expected, '["a",0,1,2,3,4,5,6,7,8,…]');
  });

  test(`a trace agrees with the filter, and so does the result for each part (seed ${seed})`, () => {
    const draw = new Draw(seed);
    const seen = { passed: 0, refused: 0, untold: 0, toldOfPart: 0 };
    for (let round = 0; round < 4_000; round += 1) {
      const [source, given] = [draw.filter(), draw.message()];
      const filter = compileFilter(source);
      const [verdict, trace] = [filter(given), [] as TraceStep[]];
      const context = JSON.stringify({ round, source, given });
      assert.equal(filter.examine(given, trace), verdict, context);
      assert.equal(filter.examine(given), verdict, context);
      for (const { result, unknown } of trace) assert.ok(result !== null && unknown === null, context);
      judgeEachStep(trace, { source, given, context });
      if (verdict === null) seen.passed += 1;
      else seen.refused += 1;
      const part = draw.partOf(given);
      const told = filter.examine(part);
      assert.equal(typeof filter.examine(part, []), typeof told, context);
      if (told === undefined) seen.untold += 1;
      else {
        assert.equal(told === null, verdict === null, context);
        seen.toldOfPart += 1;
      }
    }
    for (const [kind, count] of Object.entries(seen)) assert.ok(count > 200, `${kind}: ${count}`);
  });
});

function step(of: Partial<TraceStep>): TraceStep {
  return { path: "", operator: "$eq", expected: null, actual: null, result: null, unknown: null, ...of };
}

/** Each condition must give the same result as a filter with only this condition. */
function judgeEachStep(
  trace: readonly TraceStep[],
  {
    source,
    given,
    context,
  }: { readonly source: unknown; readonly given: FilteredMessage; readonly context: string },
): void {
  for (const { path, operator, result } of trace) {
    if (operator === "$or" || operator === "$not") continue;
    const parts = path.replaceAll(/\[(\d+)\]/g, ".#$1").split(".");
    const alone = aloneOf(source, parts);
    assert.equal(compileFilter(alone)(given) === null, result, `${path} ${JSON.stringify(alone)} ${context}`);
  }
}

/** The condition at the path, without the rules that contain it. */
function aloneOf(source: unknown, [part, ...rest]: readonly string[]): unknown {
  if (part === undefined) return source;
  if (part.startsWith("#")) return aloneOf((source as readonly unknown[])[Number(part.slice(1))], rest);
  const inner = aloneOf((source as Readonly<Record<string, unknown>>)[part], rest);
  return ["$and", "$or", "$not"].includes(part) ? inner : { [part]: inner };
}

/** Filters and messages use a small vocabulary, so that they often match. */
class Draw {
  readonly #next: () => number;

  constructor(from: number) {
    this.#next = seededNumbers(from);
  }

  #below(count: number): number {
    return Math.floor(this.#next() * count);
  }

  #one<T>(of: readonly T[]): T {
    return of[this.#below(of.length)] as T;
  }

  #scalar(): unknown {
    return this.#one([0, 1, 2, "a", "ab", "b", "", true, false, null]);
  }

  #some(names: readonly string[], make: () => unknown): Record<string, unknown> {
    return Object.fromEntries(names.filter(() => this.#below(2) === 0).map((name) => [name, make()]));
  }

  message(): FilteredMessage {
    const texts = (names: readonly string[]) =>
      this.#some(names, () => this.#one(["a", "ab", "b"])) as Record<string, string>;
    const body = this.#below(6) === 0 ? undefined : this.#value(3);
    return { body, headers: texts(["x", "y"]), query: texts(["x", "y"]), path: this.#one(["", "/a", "/ab"]) };
  }

  #value(depth: number): unknown {
    const kind = this.#below(4);
    if (depth === 0 || kind === 0) return this.#scalar();
    if (kind === 1) return Array.from({ length: this.#below(3) }, () => this.#value(depth - 1));
    return this.#some(["x", "y", "0"], () => this.#value(depth - 1));
  }

  filter(depth = 2): object {
    const kind = this.#below(5);
    if (depth > 0 && kind === 0) return { $not: this.filter(depth - 1) };
    if (depth > 0 && kind < 3)
      return { [this.#one(["$and", "$or"])]: [this.filter(depth - 1), this.filter(depth - 1)] };
    const rule = () => this.#rule(2);
    return {
      ...this.#some(["headers", "query"], () => this.#some(["x", "y"], rule)),
      ...this.#some(["path", "body"], rule),
    };
  }

  #rule(depth: number): unknown {
    const kind = this.#below(6);
    if (depth > 0 && kind < 2) return this.#some(["x", "y", "0"], () => this.#rule(depth - 1));
    if (depth > 0 && kind === 2) return { $not: this.#rule(depth - 1) };
    if (depth > 0 && kind === 3) return { $or: [this.#rule(depth - 1), this.#rule(depth - 1)] };
    if (kind === 4) return this.#scalar();
    return this.#one([
      { $neq: this.#scalar() },
      { $in: [this.#scalar(), this.#scalar()] },
      { $nin: [this.#scalar()] },
      { $gt: 0, $lte: 1 },
      { $gte: "a" },
      { $lt: "b" },
      { $startsWith: "a" },
      { $endsWith: "b" },
      { $exist: this.#below(2) === 0 },
    ]);
  }

  /** The parts of the message that a log may still contain. */
  partOf({ body, headers, query, path }: FilteredMessage): PartlyKnownMessage {
    const part = (texts: Readonly<Record<string, string>>) =>
      Object.fromEntries(
        Object.entries(texts).map(([name, text]): [string, string | Unknown] => [
          name,
          this.#below(3) === 0 ? masked : text,
        ]),
      );
    return {
      body: this.#below(2) === 0 ? notKept : body,
      headers: part(headers),
      query: this.#below(3) === 0 ? notKept : { ...part(query), y: notKept },
      path: this.#below(3) === 0 ? masked : path,
    };
  }
}
