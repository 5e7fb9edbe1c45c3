import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { contentSecurityPolicy, html, htmlAnswer, page, prose } from "./html.ts";

test("values are escaped, HTML parts are not", () => {
  assert.equal(
    html`<p title="${'"x"'}">${"<b>"}${html`<i>${1}</i>`}${["&", null]}</p>`.text,
    '<p title="&#34;x&#34;">&#60;b&#62;<i>1</i>&#38;</p>',
  );
  assert.equal(prose("a `<b>` c").text, "a <code>&#60;b&#62;</code> c");
});

test("the policy contains the hash of the page's style", () => {
  const style = /<style>([^]*?)<\/style>/.exec(page("x", html``))?.[1] ?? "";
  assert.ok(
    contentSecurityPolicy.includes(`'sha256-${createHash("sha256").update(style).digest("base64")}'`),
  );
});

test("the page that tries calls may run only its own script, and call only this server", () => {
  const script = /<script type="module">([^]*?)<\/script>/.exec(page("x", html``, true))?.[1] ?? "";
  const hash = createHash("sha256").update(script).digest("base64");
  const policy = String(htmlAnswer("", true).headers?.["content-security-policy"]);
  assert.ok(script.includes("fetch("));
  assert.ok(policy.includes(`script-src 'sha256-${hash}'; connect-src 'self';`));
  assert.ok(!page("x", html``).includes("<script"));
  assert.equal(htmlAnswer("").headers?.["content-security-policy"], contentSecurityPolicy);
});
