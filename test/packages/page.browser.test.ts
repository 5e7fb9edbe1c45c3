/** Both packages in a browser page, as in an internal application: in Chromium, with a real server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openBrowser } from "../browser/browser.fixture.ts";
import { openServer } from "../scenarios/api/running-server.fixture.ts";
import { bundled, works } from "./runtimes/bundle.fixture.ts";

test("a page publishes and receives", async (t) => {
  const [server, browser] = await Promise.all([openServer(), openBrowser()]);
  t.after(async () => {
    await browser.close();
    await server.close();
  });
  const page = await browser.newPage();
  const script = await bundled(
    `import { tryPosthorn } from "./application.mjs"; globalThis.tryPosthorn = tryPosthorn;`,
  );
  // A page of the same origin, as if the application and the server were behind one proxy.
  const document = `<!doctype html><title>Application</title><script type="module">${script}</script>`;
  await page.route(`${server.baseUrl}/application`, (route) =>
    route.fulfill({ contentType: "text/html", body: document }),
  );
  await page.goto(`${server.baseUrl}/application`);
  const address = { url: server.baseUrl, key: server.adminKey };
  const said: unknown = await page.evaluate(`tryPosthorn(${JSON.stringify(address)})`);
  assert.deepEqual(said, works);
});
