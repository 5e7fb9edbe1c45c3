import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PosthornError } from "../errors.ts";
import { repeatedName, defaultBounds, parseJson, scanJson } from "./guard.ts";
import { processorMs } from "../../../test/services/processor-time.fixture.ts";

const bounds = { depthMax: 4, valuesMax: 10 };

function scan(text: string): string {
  return scanJson(Buffer.from(text), bounds).finding;
}

function codeOf(text: string | Uint8Array): string {
  try {
    parseJson(Buffer.from(text), defaultBounds);
    return "fine";
  } catch (error) {
    assert.ok(error instanceof PosthornError);
    return error.code;
  }
}

test("depth is counted outside strings only", () => {
  assert.equal(scan("[[[[1]]]]"), "fine");
  assert.equal(scan("[[[[[1]]]]]"), "too_deep");
  assert.equal(scan('{"a":{"b":[{}]}}'), "fine");
  assert.equal(scan('"[[[[[[[["'), "fine");
  assert.equal(scan('["\\"[[[[[["]'), "fine");
  assert.equal(scan('["\\\\",[[[[1]]]]]'), "too_deep");
});

test("values are counted outside strings only", () => {
  assert.equal(scan("[1,2,3,4,5,6,7,8,9]"), "fine");
  assert.equal(scan("[1,2,3,4,5,6,7,8,9,10]"), "too_many");
  assert.equal(scan("[[],[],[],[],[],[]]"), "too_many");
  assert.equal(scan('"1,2,3,4,5,6,7,8,9,10,11,12"'), "fine");
});

test("text that may spell a poisonous name is parsed more carefully", () => {
  assert.equal(scan('{"__proto__":1}'), "look_closer");
  assert.equal(scan('{"constructor":1}'), "look_closer");
  assert.equal(scan('{"\\u005f":1}'), "look_closer");
  assert.equal(scan('{"__prot__":1}'), "fine");
});

test("poisonous names are rejected anywhere, ordinary ones are not", () => {
  assert.equal(codeOf('{"a":[{"__proto__":{}}]}'), "invalid_request");
  assert.equal(codeOf('{"\\u005f_proto__":1}'), "invalid_request");
  assert.equal(codeOf('{"constructor":{"prototype":1}}'), "invalid_request");
  assert.equal(codeOf('{"constructor":"x","a":"__proto__"}'), "fine");
});

test("bytes that are not UTF-8 are rejected, not replaced", () => {
  assert.equal(codeOf(Buffer.from([0x22, 0xff, 0x22])), "malformed_json");
  assert.equal(codeOf(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])), "malformed_json");
  assert.equal(codeOf('"\u{1f600}"'), "fine");
});

test("a syntax error gives the position and never the text", () => {
  assert.throws(
    () => parseJson(Buffer.from('{"secret":"hunter2",}'), defaultBounds),
    (error: unknown) =>
      error instanceof PosthornError &&
      error.message.endsWith("character 20.") &&
      !error.message.includes("hunter"),
  );
});

test("numbers beyond the range of a double are rejected by name, large and exponential ones are not", () => {
  for (const text of [
    '{"a":[1,1e999]}',
    '{"a":[1,-1E+400]}',
    `{"a":[1,${"9".repeat(309)}]}`,
    `{"a":[1,\n${"9".repeat(309)} ]}`,
  ]) {
    assert.throws(
      () => parseJson(Buffer.from(text), defaultBounds),
      (error: unknown) => error instanceof PosthornError && error.fields[0]?.field === "a[1]",
    );
  }
  const fine = `[1e308,-2.5E-7,${"9".repeat(308)},true,false,null,"1e999"]`;
  assert.deepEqual(parseJson(Buffer.from(fine), defaultBounds), JSON.parse(fine));
});

test("numbers of any size are accepted if the text is kept", () => {
  const kept = { ...defaultBounds, hugeNumbers: "kept" } as const;
  assert.deepEqual(parseJson(Buffer.from('{"a":[1e400,-1e400]}'), kept), { a: [Infinity, -Infinity] });
  assert.throws(() => parseJson(Buffer.from('{"a":{"__proto__":1e400}}'), kept), PosthornError);
});

test("a duplicate name in one object is rejected with its path", () => {
  const twice: Readonly<Record<string, string>> = {
    '{"a":1,"a":1}': "a",
    '{"a":":","b":{"c":[0,{"d":1,"e":{"d":2},"d":3}]}}': "b.c[1].d",
    '[1,{"a\\"":1,"b":2,"\\u0061\\"":3}]': '[1].a"',
    '{"__proto__":1,"__proto__":2}': "__proto__",
    '{"x":[[],[]],"x":[]}': "x",
  };
  for (const [text, field] of Object.entries(twice)) {
    assert.throws(
      () => parseJson(Buffer.from(text), defaultBounds),
      (error: unknown) => error instanceof PosthornError && error.fields[0]?.field === field,
      text,
    );
  }
  assert.equal(codeOf('{"a":{"a":1},"b":[{"a":1},{"a":"a"}],"":{"":0}}'), "fine");
});

test("sixteen megabytes with a duplicate name are rejected in one pass", () => {
  const nested = `${'{"a":['.repeat(31)}${"1,".repeat(8_000_000)}1${"]}".repeat(31)}`;
  const raw = Buffer.from(`{"b":${nested},"b":1}`);
  const startedAt = processorMs();
  assert.equal(repeatedName(raw), "b");
  // Ten times the expected time, and a tenth of the time that one pass per level would take.
  assert.ok(processorMs() - startedAt < 5_000);
});

test("any JSON is returned unchanged, any bytes give a value or an error with a code", () => {
  const wide = { depthMax: 1_000, valuesMax: 1_000_000 };
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (text) => {
      if (text.includes("__proto__") || text.includes("constructor")) return;
      assert.deepEqual(parseJson(Buffer.from(text), wide), JSON.parse(text));
    }),
  );
  fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => codeOf(bytes) !== ""));
});

test("sixteen megabytes are scanned in well under a second", () => {
  const raw = Buffer.from(`[${"{},".repeat(5_000_000)}{}]`);
  const startedAt = processorMs();
  assert.equal(scanJson(raw, { depthMax: 64, valuesMax: 500_000 }).finding, "too_many");
  assert.equal(scanJson(raw, { depthMax: 64, valuesMax: Infinity }).finding, "fine");
  assert.ok(processorMs() - startedAt < 1_000);
});
