// A small application that uses the installed package, for every supported version of Node. It is plain JavaScript,
// because Node 20 does not strip types. The argument `web` hides node:crypto before the package is loaded.
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

const isWebForced = process.argv[2] === "web";
if (isWebForced) process.getBuiltinModule = undefined;

const { createReceiver, standardWebhooks, providers, buildWebhookPath } = await import("@posthorn/receiver");
const { nodeHttpListener } = await import("@posthorn/receiver/node-http");
const { fetchHandler } = await import("@posthorn/receiver/fetch");
const { createMemoryDeduplicationStore } = await import("@posthorn/receiver/stores/memory");

const secret = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const rawPublicKey = publicKey.export({ format: "der", type: "spki" }).subarray(-32);

const handled = [];
const receiver = createReceiver({
  verifier: standardWebhooks({ keys: { shared: secret, pair: `whpk_${rawPublicKey.toString("base64")}` } }),
  deduplication: { store: createMemoryDeduplicationStore() },
  handler: (received) => {
    handled.push([received.messageId, received.scheme, received.json().n]);
  },
});

function signed(id, { scheme = "v1", body = `{"n":"${id}"}` } = {}) {
  const timestamp = Math.floor(Date.now() / 1000);
  const content = Buffer.from(`${id}.${timestamp}.${body}`);
  const signature =
    scheme === "v1"
      ? createHmac("sha256", Buffer.alloc(32, 5)).update(content).digest("base64")
      : sign(null, content, privateKey).toString("base64");
  return {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": `${scheme},${signature}`,
    },
    body,
  };
}

async function statusesThrough(send, prefix) {
  const message = signed(`${prefix}-1`);
  return [
    await send(message),
    await send(message),
    await send(signed(`${prefix}-2`, { scheme: "v1a" })),
    await send({ ...signed(`${prefix}-3`), body: '{"n":"other"}' }),
    await send({ ...signed(`${prefix}-4`), headers: { "content-type": "application/json" } }),
  ];
}

const server = createServer(nodeHttpListener(receiver)).listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${server.address().port}${buildWebhookPath({ party: "acme", version: 1 })}`;
const http = await statusesThrough(async (message) => (await fetch(url, message)).status, "http");
server.close();

const handle = fetchHandler(receiver);
const fetched = await statusesThrough(
  async (message) => (await handle(new Request("https://example.com/hooks", message))).status,
  "fetch",
);

const mac = createHmac("sha256", "hush").update("{}").digest("hex");
const answer = providers.github({ secrets: "hush" }).verify(
  {
    method: "POST",
    url: "/",
    headers: new Headers({ "X-Hub-Signature-256": `sha256=${mac}` }),
    body: new TextEncoder().encode("{}"),
  },
  { nowSeconds: 0 },
);

process.stdout.write(
  JSON.stringify({
    http,
    fetched,
    handled,
    github: (await answer).kind,
    isSynchronous: !(answer instanceof Promise),
  }),
);
