import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { codeOf, errorOf, messageOf } from "./thrown.ts";

describe("thrown values", () => {
  it("gives the code of an error, if it is text", () => {
    assert.equal(codeOf(Object.assign(new Error("refused"), { code: "ECONNREFUSED" })), "ECONNREFUSED");
    assert.equal(codeOf(Object.assign(new Error("precondition failed"), { code: 406 })), null);
    assert.equal(codeOf(new Error("without")), null);
    for (const thrown of [{ code: "ECONNREFUSED" }, "ECONNREFUSED", null, undefined])
      assert.equal(codeOf(thrown), null);
  });

  it("gives the message of an error, or the thrown text", () => {
    assert.equal(messageOf(new TypeError("not a function")), "not a function");
    assert.equal(messageOf("ended"), "ended");
    assert.equal(messageOf(undefined), "undefined");
  });

  it("is an error, or is converted to one", () => {
    const error = new RangeError("too large");
    assert.equal(errorOf(error), error);
    assert.equal(errorOf("ended").message, "ended");
  });
});
