import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { contentSecurityPolicy, html, page, prose } from "./html.ts";

test("values are escaped, parts that are HTML are not", () => {
  assert.equal(
    html`<p title="${'"x"'}">${"<b>"}${html`<i>${1}</i>`}${["&", null]}</p>`.text,
    '<p title="&#34;x&#34;">&#60;b&#62;<i>1</i>&#38;</p>',
  );
  assert.equal(prose("a `<b>` c").text, "a <code>&#60;b&#62;</code> c");
});

test("the policy names the style of the page", () => {
  const style = /<style>([^]*?)<\/style>/.exec(page("x", html``))?.[1] ?? "";
  assert.ok(
    contentSecurityPolicy.includes(`'sha256-${createHash("sha256").update(style).digest("base64")}'`),
  );
});
