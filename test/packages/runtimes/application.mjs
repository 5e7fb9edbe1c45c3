// What an application does with both packages, using only features of the web platform: it publishes events, reads
// data, gets an error, and receives events. Runs on every runtime.
import { ApiError, createClient } from "@posthorn/client";
import { Outbox } from "@posthorn/client/outbox";
import { createReceiver, standardWebhooks } from "@posthorn/receiver";
import { fetchHandler } from "@posthorn/receiver/fetch";
import { createMemoryDeduplicationStore } from "@posthorn/receiver/stores/memory";

const key = new Uint8Array(32).fill(5);

export async function tryPosthorn(server) {
  const posthorn = createClient(server);
  const receipt = await posthorn.publish({ event_type: "runtime.tried", data: { n: 1 } });
  const [newest] = await posthorn.events.list({ event_type: ["runtime.tried"] }).take(1);
  const refused = await posthorn.publish({ event_type: "no name", data: {} }).catch((error) => error);
  return {
    isThere: newest?.id === receipt.id,
    code: refused instanceof ApiError ? refused.code : String(refused),
    outbox: typeof new Outbox({ client: posthorn, store: {} }).add,
    ...(await receive()),
  };
}

async function receive() {
  const handled = [];
  const receiver = createReceiver({
    verifier: standardWebhooks({ keys: `whsec_${base64(key)}` }),
    deduplication: { store: createMemoryDeduplicationStore() },
    handler: (received) => {
      handled.push(received.json().n);
    },
  });
  const handle = fetchHandler(receiver);
  const message = await signed('{"n":1}');
  const answered = [];
  for (const request of [message, message, { ...message, body: '{"n":2}' }]) {
    const response = await handle(new Request("https://example.com/hooks", request));
    answered.push(response.status);
  }
  return { answered, handled };
}

async function signed(body) {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, hmac, false, ["sign"]);
  const content = new TextEncoder().encode(`msg_1.${timestamp}.${body}`);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", imported, content));
  const headers = {
    "content-type": "application/json",
    "webhook-id": "msg_1",
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${base64(mac)}`,
  };
  return { method: "POST", headers, body };
}

function base64(bytes) {
  return btoa(String.fromCharCode(...bytes));
}
