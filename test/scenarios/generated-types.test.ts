/**
 * Code that quicktype generates from our documents (docs/types.md) reads received messages. Tested in the languages
 * that are installed on this machine.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { InputData, JSONSchemaInput, quicktypeMultiFile, type Options } from "quicktype-core";
import { openPosthorn } from "../../src/app/library.ts";
import { startReceiver } from "../peers/receiver.ts";
import { blocksOf } from "./page-blocks.fixture.ts";

const run = promisify(execFile);
const adminKey = "k".repeat(40);

const order = {
  type: "object",
  required: ["order_id", "status", "address", "items"],
  properties: {
    order_id: { type: "string" },
    status: { enum: ["paid", "shipped"] },
    count: { type: "integer" },
    coupon: { type: ["string", "null"] },
    address: { $ref: "#/$defs/address" },
    invoice: { anyOf: [{ $ref: "#/$defs/address" }, { type: "null" }] },
    items: { type: "array", items: { $ref: "#/$defs/line-item" } },
  },
  $defs: {
    "address": { type: "object", required: ["city"], properties: { city: { type: "string" } } },
    "line-item": {
      type: "object",
      required: ["sku"],
      properties: { sku: { type: "string" }, parts: { type: "array", items: { $ref: "#/$defs/line-item" } } },
    },
  },
};
const data = {
  order_id: "4711",
  status: "paid",
  coupon: null,
  address: { city: "Wien" },
  items: [{ sku: "a", parts: [{ sku: "b" }] }],
};

suite("types for other languages, generated from the OpenAPI document", () => {
  const place = mkdtempSync(join(tmpdir(), "posthorn-generated-types-"));
  after(() => rmSync(place, { recursive: true, force: true }));
  let document = "";
  let message = "";

  before(async () => {
    const receiver = await startReceiver();
    const posthorn = await openPosthorn({
      dataDir: join(place, "data"),
      dev: true,
      listen: true,
      port: 0,
      logLevel: "error",
      adminKey,
    });
    try {
      await posthorn.eventTypes.put({ name: "order.completed", description: "Paid.", schema: order });
      await posthorn.eventTypes.put({ name: "order.noted" });
      await posthorn.webhooks.create({ url: receiver.url("/hooks"), events: ["order.*"] });
      await posthorn.publish({ eventType: "order.completed", data });
      message = (await receiver.waitForRequests(1))[0]?.text ?? "";
      const url = `${posthorn.url}/v1/webhook-docs/openapi.json`;
      const answer = await fetch(url, { headers: { authorization: `Bearer ${adminKey}` } });
      document = await answer.text();
    } finally {
      await posthorn.close();
      await receiver.close();
    }
  });

  test("Python reads a message, and rejects what the schema rejects", async (t) => {
    const files = await generated(document, { lang: "python" });
    writeFileSync(join(place, "events.py"), [...files.values()].join(""));
    const block = blocksOf("docs/types.md").find(({ language }) => language === "python");
    writeFileSync(join(place, "receive.py"), block?.code ?? "");
    writeFileSync(join(place, "read.py"), pythonReader);
    const bodies = [
      JSON.parse(message),
      { ...JSON.parse(message), data: { ...data, count: 3, coupon: "SPRING", invoice: null } },
      { ...JSON.parse(message), data: { ...data, order_id: undefined } },
      { ...JSON.parse(message), data: { ...data, status: "lost" } },
      { ...JSON.parse(message), data: { ...data, items: [{ sku: "a", parts: [{}] }] } },
      { ...JSON.parse(message), type: "order.noted" },
    ].map((body) => JSON.stringify(body));
    const said = await execute(t, "python3", { args: ["read.py", ...bodies], place });
    if (said === null) return;
    const refused = Array.from({ length: 4 }, () => "refused");
    assert.deepEqual(said.trim().split("\n"), ["4711 PAID None None b", "4711 PAID 3 SPRING b", ...refused]);
  });

  test("Java compiles, and a program reads each member by its type", async (t) => {
    const files = await generated(document, {
      lang: "java",
      rendererOptions: { "just-types": true, "package": "events" },
    });
    mkdirSync(join(place, "events"));
    for (const [name, text] of files) writeFileSync(join(place, "events", name), text);
    writeFileSync(join(place, "Use.java"), javaUse);
    await execute(t, "javac", { args: ["-d", "out", "-sourcepath", ".", "Use.java"], place });
  });
});

const pythonReader = `
import json, sys
from events import order_completed_standard_from_dict
from receive import receive
for text in sys.argv[1:]:
    try:
        data = order_completed_standard_from_dict(json.loads(text)).data
        print(receive(text.encode()), data.status.name, data.count, data.coupon, data.items[0].parts[0].sku)
    except (AssertionError, ValueError):
        print("refused")
`;

const javaUse = `
import events.*;
class Use {
  static String of(OrderCompletedStandard message) {
    OrderCompletedContent data = message.getData();
    OrderCompletedContentAddress address = data.getAddress();
    java.util.List<Link> links = message.getLinks();
    Long count = data.getCount();
    String coupon = data.getCoupon();
    return data.getOrderID() + (data.getStatus() == Status.PAID) + address.getCity() + count + coupon + links;
  }
}
`;

/** The output of quicktype, by file name. */
async function generated(document: string, target: Partial<Options>): Promise<ReadonlyMap<string, string>> {
  const schema = new JSONSchemaInput(undefined);
  await schema.addSource({
    name: "Webhooks",
    schema: document,
    uris: ["/openapi.json#/components/schemas/"],
  });
  const inputData = new InputData();
  inputData.addInput(schema);
  const files = await quicktypeMultiFile({ inputData, ...target });
  return new Map([...files].map(([name, { lines }]) => [name, lines.join("\n")]));
}

/** Null if the language is not installed. */
async function execute(
  t: TestContext,
  program: string,
  { args, place }: { readonly args: readonly string[]; readonly place: string },
): Promise<string | null> {
  try {
    return (await run(program, [...args], { cwd: place })).stdout;
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ENOENT") throw error;
    t.skip(`no ${program} on the PATH`);
    return null;
  }
}
