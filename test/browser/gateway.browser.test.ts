/** The gateway in the dashboard, from "Add a source" to a program on this machine, in Chromium with one real server. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, suite, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import type { Receiver } from "../peers/receiver.ts";
import { RunningCommand } from "../scenarios/cli/command-line.fixture.ts";
import { eventually } from "../scenarios/eventually.fixture.ts";
import type { PosthornProcess } from "../scenarios/posthorn-process.fixture.ts";
import { bringAxe, forAxe, judge } from "./axe.fixture.ts";
import { assertClean, goWithin, watch } from "./browser.fixture.ts";
import { DashboardWorld } from "./dashboard-world.fixture.ts";

interface Row {
  readonly id: string;
  readonly outcome: string;
  readonly event_type: string | null;
  readonly verification: Readonly<Record<string, unknown>>;
}

suite("the gateway in the dashboard", () => {
  let world: DashboardWorld;
  let server: PosthornProcess;
  let receiver: Receiver;
  let context: BrowserContext;
  /** The source named GitHub, which the first test creates. */
  let github: { readonly id: string; readonly url: string; readonly secret: string };

  before(async () => {
    world = await DashboardWorld.open();
    ({ server, receiver, context } = world);
  });
  after(() => world?.close());

  const visit = (path: string, on = context): Promise<Page> => world.visit(path, on);
  const get = async (path: string): Promise<Row> => (await server.call("GET", path)).body as Row;
  const listed = async (path: string): Promise<readonly Row[]> =>
    ((await server.call("GET", path)).body as { readonly data: readonly Row[] }).data;

  /** Requests in the format that GitHub documents. */
  const send = async (
    message: { readonly event: string; readonly body: string; readonly delivery: string },
    { url = github.url, secret = github.secret } = {},
  ): Promise<number> => {
    const signature = createHmac("sha256", secret).update(message.body).digest("hex");
    const headers = {
      "content-type": "application/json",
      "user-agent": "GitHub-Hookshot/044aadd",
      "x-github-event": message.event,
      "x-github-delivery": message.delivery,
      "x-hub-signature-256": `sha256=${signature}`,
    };
    return (await fetch(url, { method: "POST", headers, body: message.body })).status;
  };

  test("from an empty page to the address and the steps of GitHub, by search and keyboard", async () => {
    const page = await visit("sources");
    const seen = watch(page, { origin: server.url });
    await page
      .getByText("Receive webhooks from providers, partners or another Posthorn server.", { exact: false })
      .waitFor();
    await page.getByRole("link", { name: "Add the first source" }).click();
    await page.getByText(/^Providers: 30\. Generic schemes: \d+\.$/).waitFor();
    await page.getByRole("searchbox", { name: "Search" }).fill("git hub");
    await page.getByText("Providers: 1. Generic schemes: 0.").waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Add a source: GitHub" }).waitFor();
    await page.getByLabel("Name", { exact: true }).fill("");
    await page.getByRole("button", { name: "Generate" }).click();
    const secret = await page.getByLabel("Secret", { exact: true }).inputValue();
    assert.match(secret, /^[\w-]{43}$/);
    await page.getByRole("button", { name: "Create source" }).click();
    const name = page.getByLabel("Name", { exact: true });
    await page.locator("[aria-invalid=true]").waitFor();
    assert.equal(await name.getAttribute("aria-invalid"), "true");
    await name.fill("GitHub");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Set up GitHub" }).waitFor();
    const url = (await page.locator(".command code").first().textContent()) ?? "";
    assert.match(url, /\/in\/[\w-]{32}$/);
    const steps = page.getByRole("list").filter({ hasText: "choose Add webhook" });
    assert.ok((await steps.textContent())?.includes(`Enter ${url}`), "the real address stands in the step");
    await page.getByText("The secret you entered (43 characters)").waitFor();
    assert.ok(!(await page.content()).includes(secret), "it can be copied, and does not stand there");
    const [source] = await listed("/v1/sources");
    github = { id: source?.id ?? "", url, secret };
    await page.reload();
    await page.getByText("Waiting for the first message", { exact: false }).waitFor();
    assert.equal(await page.getByText("The secret you entered", { exact: false }).count(), 0);
    assertClean(seen);
    await page.close();
  });

  test("the page shows why the first message was rejected, and then that it arrived, on this machine too", async (t) => {
    const page = await visit(`sources/${github.id}/set-up`);
    const ping = { event: "ping", body: '{"zen":"Keep it logically awesome.","hook_id":1}', delivery: "d-1" };
    await page.getByText("Waiting for the first message", { exact: false }).waitFor();
    assert.equal(await send(ping, { secret: "another one" }), 401);
    await page
      .getByText("The signature does not match the secret of this source.", { exact: false })
      .waitFor();
    await page.getByRole("button", { name: "Change secret…" }).waitFor();
    const command = (await page.locator(".command code").last().textContent()) ?? "";
    assert.equal(command, "posthorn listen --source GitHub --forward-to 3000");
    const args = command.replace("posthorn ", "").replace("3000", receiver.url("/mine")).split(" ");
    const listener = new RunningCommand(args, {
      env: { POSTHORN_URL: server.url, POSTHORN_KEY: server.adminKey },
    });
    t.after(() => listener.stop());
    await listener.until(/listening to source GitHub/);
    assert.equal(await send(ping), 503, "nothing is connected yet");
    const [mine] = await receiver.waitForRequests(1);
    assert.deepEqual([mine?.path, mine?.text], ["/mine", ping.body]);
    assert.equal(mine?.headers["x-github-event"], "ping");
    await page.getByText("The message is authentic but was not accepted", { exact: false }).waitFor();
    await page.close();
  });

  test("a new webhook is connected, receives messages byte for byte, and its secret is shown once", async () => {
    receiver.clear();
    const page = await visit(`sources/${github.id}/set-up`);
    await page.getByRole("link", { name: "Connect a webhook" }).click();
    await page.getByRole("heading", { level: 1, name: "New connection" }).waitFor();
    await page.getByRole("option", { name: "GitHub" }).waitFor({ state: "attached" });
    await page.getByRole("button", { name: "Create connection" }).click();
    await page.getByText("Webhook is required.").waitFor();
    await page.getByLabel("Webhook", { exact: true }).selectOption("new");
    await page.getByLabel("URL of the new webhook").fill(receiver.url("/bot"));
    await page.getByLabel("Name", { exact: true }).fill("to the bot");
    await page.getByText("Filter examples").click();
    await page.getByRole("button", { name: "Opened or closed pull requests" }).click();
    const filter = page.getByLabel("Filter (JSON)");
    await filter.fill((await filter.inputValue()).replace("$in", "$inn"));
    await page.getByRole("button", { name: "Create connection" }).click();
    await page.locator("textarea[aria-invalid=true]").waitFor();
    await filter.fill('{"body":{"action":{"$in":["opened","closed"]}}}');
    await page.getByRole("button", { name: "Create connection" }).click();
    const dialog = page.getByRole("dialog", { name: "Connection created" });
    assert.match((await dialog.locator("code").textContent()) ?? "", /^whsec_/);
    await dialog.getByRole("button", { name: "Open source" }).click();
    await page.getByRole("heading", { level: 1, name: /^GitHub/ }).waitFor();
    assert.equal((await listed("/v1/webhooks")).length, 1, "the refused filter made no second webhook");
    const opened = { event: "issues", body: '{"action":"opened","id":90071992547409931}', delivery: "d-2" };
    const other = { event: "issues", body: '{"action":"labeled"}', delivery: "d-3" };
    assert.deepEqual([await send(opened), await send(other)], [200, 202]);
    const [got] = await receiver.waitForRequests(1);
    assert.deepEqual([got?.path, got?.text], ["/bot", opened.body]);
    assert.equal(got?.headers["x-github-delivery"], "d-2");
    await page.getByRole("row", { name: /issues ignored/ }).waitFor();
    await page.getByRole("row", { name: /issues accepted/ }).waitFor();
    await page.goto(`${server.url}/ui/sources`);
    await page.getByRole("row", { name: /GitHub active .*1 webhook.*1 accepted/ }).waitFor();
    await page.close();
  });

  test("a filter is tried on earlier messages before it is saved; the page explains why one is skipped", async () => {
    const [connection] = await listed("/v1/connections");
    const page = await visit(`connections/${connection?.id ?? ""}`);
    const filter = page.getByLabel("Filter (JSON)");
    const attempt = page.getByRole("button", { name: "Test on recent requests" });
    for (const [text, problem] of [
      ["{", "Filter (JSON) is not valid JSON."],
      ['{"body":{"action":{"$inn":["labeled"]}}}', "Filter (JSON) is not an operator"],
    ] as const) {
      await filter.fill(text);
      await attempt.click();
      await page.locator("textarea[aria-invalid=true]:focus").waitFor();
      await page.getByText(problem, { exact: false }).waitFor();
    }
    await filter.fill('{"body":{"action":{"$in":["labeled"]}}}');
    await attempt.click();
    const said = page.getByRole("status").filter({ hasText: "would be forwarded" });
    await said.waitFor();
    assert.equal(
      await said.textContent(),
      "1 of the last 4 would be forwarded. 1 did not reach a filter: rejected, duplicate, or address check.",
    );
    assert.equal(await page.locator("[aria-invalid=true]").count(), 0, "what was wrong is put right");
    await page.getByRole("row", { name: /issues Why.* forwarded/ }).waitFor();
    await page.getByRole("row", { name: /issues Why.* filtered out by body\.action\.\$in/ }).waitFor();
    await page.getByRole("button", { name: "Why: issues, filtered out" }).click();
    const why = page.getByRole("region", { name: "Why: issues" });
    await why.getByText("it would be filtered out by body.action.$in.", { exact: false }).waitFor();
    await why.getByText('must be one of ["labeled"], is "opened"', { exact: false }).waitFor();
    await filter.fill("{}");
    await said.waitFor({ state: "detached" });
    const { filter: saved } = (await get(`/v1/connections/${connection?.id ?? ""}`)) as unknown as Row &
      Readonly<Record<"filter", unknown>>;
    assert.deepEqual(saved, { body: { action: { $in: ["opened", "closed"] } } }, "nothing was saved");
    await page.goto(`${server.url}/ui/connections/new`);
    await attempt.click();
    await page.getByText("Source is required.").waitFor();
    await page.getByLabel("Source", { exact: true }).selectOption(github.id);
    await attempt.click();
    await page.getByRole("status").filter({ hasText: "3 of the last 4 would be forwarded." }).waitFor();
    await page.getByRole("link", { name: "issues" }).first().click();
    await page.getByRole("heading", { name: "Forwarded to" }).waitFor();
    await page.close();
    const made = await server.call("POST", "/v1/api-keys", { name: "r", role: "read", tenant_id: "default" });
    const reader = await world.logInAs((made.body as { readonly key: string }).key);
    const read = await visit(`connections/${connection?.id ?? ""}`, reader);
    await read.getByRole("button", { name: "Test on recent requests" }).click();
    await read.getByRole("status").filter({ hasText: "1 of the last 4 would be forwarded." }).waitFor();
    await reader.close();
  });

  test("rejected requests are retried after the secret is corrected; filters are in the address", async () => {
    receiver.clear();
    const late = { event: "pull_request", body: '{"action":"closed"}', delivery: "d-4" };
    assert.equal(await send(late, { secret: "a newer secret" }), 401);
    const page = await visit(`requests?source_id=${github.id}`);
    await page.getByLabel("rejected").check();
    await page.waitForURL(/outcome=rejected/);
    await page
      .getByRole("row", { name: /rejected/ })
      .nth(1)
      .waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("p");
    const panel = page.getByRole("complementary", { name: "Request panel" });
    await panel.getByText("no signature matches a key").waitFor();
    await panel.getByText("x-hub-signature-256: ***", { exact: false }).waitFor();
    await panel.getByRole("button", { name: "Verify again and forward" }).click();
    await panel.getByText("still not authentic", { exact: false }).waitFor();
    await panel.getByRole("link", { name: "Open source verification" }).click();
    await page.getByRole("button", { name: "Rotate or change…" }).click();
    await page.getByLabel("Secret", { exact: true }).fill("a newer secret");
    await page.getByLabel("Previous value", { exact: false }).fill(github.secret);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("2 stored, masked").waitFor();
    await page.goBack();
    await panel.getByRole("button", { name: "Verify again and forward" }).click();
    await panel.getByText("The message is authentic and was accepted.").waitFor();
    const [got] = await receiver.waitForRequests(1);
    assert.equal(got?.text, late.body);
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    assert.equal(new URL(page.url()).searchParams.get("outcome"), "rejected");
    assert.equal(await send({ ...late, delivery: "d-5" }), 200, "the secret before counts too");
    await page.close();
  });

  test("a request is kept by a bookmark, and replayed; the sent message is shown digit for digit", async () => {
    receiver.clear();
    const [accepted] = await listed(`/v1/requests?source_id=${github.id}&outcome=accepted`);
    const page = await visit(`requests/${accepted?.id ?? ""}`);
    await page.getByRole("button", { name: "Bookmark…" }).click();
    await page.getByLabel("Bookmark name").fill("a pull request");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Bookmarked as “a pull request”.").waitFor();
    await page.getByRole("heading", { name: "Deliveries created" }).waitFor();
    await page.getByRole("button", { name: "Replay" }).click();
    await receiver.waitForRequests(1);
    await page.goto(`${server.url}/ui/requests`);
    await page.getByLabel("bookmarked", { exact: true }).check();
    await page.waitForURL(/bookmarked=true/);
    await page.locator("tbody tr").nth(1).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "pull_request" }).click();
    await page.getByRole("button", { name: "Remove bookmark" }).click();
    await page.getByRole("button", { name: "Bookmark…" }).waitFor();
    await page.close();
  });

  test("addresses rotate with an overlap; messages are stored after an acknowledgement; a disabled source returns 410", async () => {
    const page = await visit(`sources/${github.id}`);
    await page.getByRole("button", { name: "Rotate address…" }).click();
    await page.getByLabel("Keep the old address for").selectOption("3600");
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    const url = (await page.locator(".command code").first().textContent()) ?? "";
    assert.notEqual(url, github.url);
    const message = (delivery: string) => ({ event: "issues", body: '{"action":"closed"}', delivery });
    assert.deepEqual([await send(message("d-6")), await send(message("d-7"), { url })], [200, 200]);
    await page.getByRole("button", { name: "Store and forward…" }).click();
    await page.getByText("/service-description", { exact: false }).waitFor();
    await page.getByRole("button", { name: "Acknowledge and switch" }).click();
    await page.getByText("As soon as the message is stored.", { exact: false }).waitFor();
    assert.equal(await send(message("d-8"), { url }), 202);
    await page.getByRole("button", { name: "Disable…" }).click();
    await page.getByLabel("Response to senders", { exact: true }).selectOption("gone");
    await page.getByRole("button", { name: "Disable", exact: true }).click();
    await page.getByRole("button", { name: "Enable" }).waitFor();
    assert.equal(await send(message("d-9"), { url }), 410);
    await page.getByRole("button", { name: "Enable" }).click();
    await page.getByRole("button", { name: "Disable…" }).waitFor();
    github = { ...github, url };
    await page.close();
  });

  test("a paused connection holds messages and sends them after resuming; edits reach the server", async () => {
    receiver.clear();
    const page = await visit(`connections?source_id=${github.id}`);
    await page.getByRole("link", { name: "to the bot" }).click();
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByRole("button", { name: "Resume" }).waitFor();
    const held = { event: "issues", body: '{"action":"opened","n":2}', delivery: "d-10" };
    assert.equal(await send(held), 202);
    assert.equal(receiver.requests.length, 0);
    await page.getByRole("button", { name: "Resume" }).click();
    const [got] = await receiver.waitForRequests(1);
    assert.equal(got?.text, held.body);
    await page.getByLabel("Filter (JSON)").fill("");
    await page.getByRole("button", { name: "Save" }).click();
    const [connection] = await listed("/v1/connections");
    await eventually("no filter", {
      ask: () => server.call("GET", `/v1/connections/${connection?.id ?? ""}`),
      holds: ({ body }) => (body as { readonly filter: unknown }).filter === null,
    });
    await page.goto(`${server.url}/ui/sources/${github.id}/edit`);
    await page.getByLabel("Party").fill("Not a name");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator("[aria-invalid=true]").waitFor();
    await page.getByLabel("Party").fill("github");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Show address" }).click();
    await page.getByText("/_webhooks/github", { exact: false }).waitFor();
    await page.close();
  });

  test("input in a connection form during a save is kept, and saved the next time", async (t) => {
    const [connection] = await listed("/v1/connections");
    const page = await visit(`connections/${connection?.id ?? ""}`);
    const held = Promise.withResolvers<null>();
    t.after(() => held.resolve(null));
    await page.route("**/v1/connections/*", async (route) => {
      if (route.request().method() === "PATCH") await held.promise;
      await route.continue();
    });
    const name = page.getByLabel("Name", { exact: true });
    const save = page.getByRole("button", { name: "Save" });
    await name.fill("half a name");
    await save.click();
    await name.fill("to the bot, again");
    held.resolve(null);
    await page.getByRole("heading", { level: 1, name: /^half a name/ }).waitFor();
    await save.click();
    await page.getByRole("heading", { level: 1, name: /^to the bot, again/ }).waitFor();
    assert.equal(await name.inputValue(), "to the bot, again");
    await page.close();
  });

  test("a secret added later, and a signed address, are entered in their fields", async () => {
    const page = await visit("");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("add a source");
    await page.getByRole("option", { name: /^Add a source/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Square" }).click();
    await page.getByRole("button", { name: "Create source" }).click();
    await page.getByText("The secret has not been entered yet. All messages are rejected.").waitFor();
    const url = await page.locator(".command code").first().textContent();
    const [square] = await listed("/v1/sources");
    assert.equal(square?.verification["public_url"], url);
    await page.getByRole("button", { name: "Enter secret…" }).click();
    assert.equal(await page.getByLabel("Address as entered at the sender").inputValue(), url);
    await page.getByLabel("Secret", { exact: true }).fill("of Square");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page
      .getByText("The secret has not been entered yet", { exact: false })
      .waitFor({ state: "detached" });
    assert.equal((await get(`/v1/sources/${square?.id ?? ""}`)).verification["public_url"], url);
    await page.goto(`${server.url}/ui/sources/new?type=discord`);
    await page.getByRole("button", { name: "Create source" }).click();
    await page.getByText("Public key is missing", { exact: false }).waitFor();
    await page.close();
  });

  test("a source without verification is marked in the list; deleting a source deletes its connections", async () => {
    const page = await visit("sources/new?type=none");
    await page.getByText("anyone who knows the address can send", { exact: false }).waitFor();
    await page.getByLabel("Name", { exact: true }).fill("Old printer");
    await page.getByRole("button", { name: "Create source" }).click();
    await page.getByRole("heading", { level: 1, name: "Set up Old printer" }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("g");
    await page.getByRole("row", { name: /Old printer active not verified/ }).waitFor();
    await page.getByRole("link", { name: "Old printer" }).click();
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Sources" }).waitFor();
    await page.getByRole("row", { name: /Old printer/ }).waitFor({ state: "detached" });
    await page.close();
  });

  test("a read-only key sees no button that changes something, and a manage key acknowledges nothing", async () => {
    const keyOf = async (role: string) => {
      const made = await server.call("POST", "/v1/api-keys", { name: role, role, tenant_id: "default" });
      return (made.body as { readonly key: string }).key;
    };
    const reader = await world.logInAs(await keyOf("read"));
    const [request] = await listed("/v1/requests?outcome=accepted");
    const [connection] = await listed("/v1/connections");
    for (const [path, shown] of [
      ["sources", "GitHub"],
      [`sources/${github.id}`, "Last requests"],
      [`connections/${connection?.id ?? ""}`, "About this connection"],
      [`requests/${request?.id ?? ""}`, "Forwarded to"],
    ] as const) {
      const page = await visit(path, reader);
      await page.getByText(shown, { exact: true }).first().waitFor();
      const acts = await page.locator("main [data-command]").allTextContents();
      assert.deepEqual(acts, [], path);
      await page.close();
    }
    await reader.close();
    const manager = await world.logInAs(await keyOf("manage"));
    const page = await visit(`sources/${github.id}`, manager);
    await page.getByRole("button", { name: "Switch to pass-through" }).click();
    await page.getByText("An administrator can switch to store and forward", { exact: false }).waitFor();
    await manager.close();
  });

  test("axe finds nothing on any page of the gateway and in its dialogs", async () => {
    const looks = await world.logIn(forAxe);
    const [rejected] = await listed("/v1/requests?outcome=rejected");
    const [connection] = await listed("/v1/connections");
    const page = await visit("sources", looks);
    await bringAxe(page);
    for (const [path, name] of [
      ["sources", "Sources"],
      ["sources/new", "Add a source"],
      ["sources/new?type=hmac", "Add a source: HMAC in a header"],
      [`sources/${github.id}/set-up`, "Set up GitHub"],
      [`sources/${github.id}/edit`, "Edit source"],
      ["connections", "Connections"],
      ["connections/new", "New connection"],
      [`connections/${connection?.id ?? ""}`, /to the bot/],
      [`requests/${rejected?.id ?? ""}`, /GitHub/],
      ["requests", "Requests"],
      [`requests?panel=${rejected?.id ?? ""}`, "Requests"],
      [`sources/${github.id}`, /GitHub/],
    ] as const) {
      await goWithin(page, `/ui/${path}`);
      await page.getByRole("heading", { level: 1, name }).waitFor();
      await page.locator(".waiting").first().waitFor({ state: "detached" });
      if (path.includes("panel=")) await page.locator(".side-panel .verdict").waitFor();
      await judge(page, path);
    }
    await goWithin(page, `/ui/connections/${connection?.id ?? ""}`);
    await page.getByLabel("Filter (JSON)").fill('{"body":{"action":"opened","n":{"$gt":1}}}');
    await page.getByRole("button", { name: "Test on recent requests" }).click();
    await page.getByRole("button", { name: "Why: issues, filtered out" }).first().click();
    await page.getByRole("region", { name: "Why: issues" }).waitFor();
    await judge(page, "a filter that was tried");
    await goWithin(page, `/ui/sources/${github.id}`);
    await page.getByRole("heading", { level: 1, name: /GitHub/ }).waitFor();
    for (const name of [
      "Rotate address…",
      "Rotate or change…",
      "Disable…",
      "Store and forward…",
      "Delete…",
    ]) {
      await page.getByRole("button", { name }).click();
      await judge(page, name);
      await page.keyboard.press("Escape");
    }
    await looks.close();
  });
});
