import assert from "node:assert/strict";
import { test } from "node:test";
import type { Connection } from "./source.ts";
import { bareEndpoint } from "../../engine/endpoint/bare-endpoint.fixture.ts";
import { RelayedMessages } from "../../engine/forward/relayed-messages.ts";
import type { StoredEvent } from "../../ports/store/history.ts";
import { requeueFor } from "./request-service.ts";

const event = { id: "e", eventType: "relayed", priority: "normal" } as StoredEvent;
const connection = (webhookId: string) => ({ id: `to ${webhookId}`, webhookId }) as Connection;
const notAsked = () => Promise.reject(new Error("nobody asks for that"));

test("a webhook that another process created a moment ago also gets retried messages", async () => {
  const known = new Map([["old", bareEndpoint({ id: "old" })]]);
  const read: string[] = [];
  const access = {
    nextId: () => "d",
    placeOf: () => ({ lane: { webhookId: "w", subject: null }, format: "json" }) as never,
    webhook: (id: string) => known.get(id),
    requeue: async () => ({ kind: "accepted" }) as never,
    gateway: new RelayedMessages(
      known,
      async (ids) => {
        read.push(...ids);
        if (ids.includes("new")) known.set("new", bareEndpoint({ id: "new" }));
      },
      { publishRelayed: notAsked },
      { forward: notAsked },
    ),
  };
  const connections = [connection("old"), connection("new"), connection("deleted")];
  const sent = await requeueFor(event, connections, new Map(), access, 0);
  assert.deepEqual(
    sent.map(({ webhookId }) => webhookId),
    ["old", "new"],
  );
  assert.deepEqual(read, ["new", "deleted"]);
});
