import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { foreignHeaders } from "./foreign-answer.ts";

suite("header fields of foreign responses", () => {
  test("empty and blank parameters are parameters", () => {
    for (const parameters of [";", "; ", " ; ; ", '; a=b ; ; c="d e" ']) {
      const type = `text/html${parameters}`;
      assert.equal(foreignHeaders({ "content-type": type }, true)["content-type"], type);
    }
  });

  // A pattern that can match a blank in two ways would take exponential time here.
  test("an almost valid media type is checked quickly", () => {
    for (const part of ["; ", ";\t", " ;", "; a=b", '; a="b"', '; a="', "; a=", " ", ";", "a", '"'])
      for (const end of ["/", "\u0000", "\u00e9", '"', ";=", " x"]) {
        const headers = foreignHeaders({ "content-type": `text/plain${part.repeat(3_000)}${end}` }, true);
        assert.equal(headers["content-disposition"], 'attachment; filename="answer"');
      }
  });
});
