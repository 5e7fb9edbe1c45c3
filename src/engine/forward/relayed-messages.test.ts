import assert from "node:assert/strict";
import { test } from "node:test";
import { UnavailableError } from "../../domain/errors.ts";
import { StoreUnavailableError } from "../../ports/store.ts";
import { bareEndpoint } from "../endpoint/bare-endpoint.fixture.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { RelayedEvent } from "../publish/publish-call.ts";
import type { ForwardRequest } from "./forwarder.ts";
import { RelayedMessages } from "./relayed-messages.ts";

const relayed = (...webhookIds: readonly string[]) =>
  ({
    tenantId: "t",
    targets: webhookIds.map((webhookId) => ({ webhookId, delayMs: 0 })),
  }) as unknown as RelayedEvent;

const forwarded = (webhookId: string) => ({ tenantId: "t", webhookId }) as unknown as ForwardRequest<never>;

/** A process that has loaded the webhooks `known`, with a store that also contains `stored`. */
function scene({ known = [], stored = [] }: { readonly known?: string[]; readonly stored?: string[] }) {
  const memory = new Map<string, Endpoint>(known.map((id) => [id, bareEndpoint({ id })]));
  const seen = { read: [] as string[], stored: [] as string[][], forwarded: [] as string[] };
  const state = { trouble: null as Error | null };
  const messages = new RelayedMessages(
    memory,
    async (ids) => {
      seen.read.push(...ids);
      await Promise.resolve();
      if (state.trouble !== null) throw state.trouble;
      for (const id of ids.filter((one) => stored.includes(one))) memory.set(id, bareEndpoint({ id }));
    },
    {
      publishRelayed: async (_event, endpoints) => {
        seen.stored.push(endpoints().map(({ webhook }) => webhook.id));
        return {} as never;
      },
    },
    {
      forward: async ({ webhook }) => {
        seen.forwarded.push(webhook.id);
        return {} as never;
      },
    },
  );
  return { messages, seen, state };
}

test("an unknown configuration is read before a message is stored", async () => {
  const { messages, seen } = scene({ known: ["old"], stored: ["new"] });
  await messages.publish(relayed("old", "new"));
  assert.deepEqual(seen, { read: ["new"], stored: [["old", "new"]], forwarded: [] });
});

test("and before a message is forwarded to it", async () => {
  const { messages, seen } = scene({ stored: ["new"] });
  await messages.forward(forwarded("new"));
  assert.deepEqual(seen, { read: ["new"], stored: [], forwarded: ["new"] });
});

test("a known configuration is not read", async () => {
  const { messages, seen } = scene({ known: ["old"] });
  await messages.publish(relayed("old"));
  await messages.forward(forwarded("old"));
  assert.deepEqual(seen, { read: [], stored: [["old"]], forwarded: ["old"] });
});

test("messages that arrive during a read share it; later ones start a new read", async () => {
  const { messages, seen } = scene({});
  await Promise.all(Array.from({ length: 50 }, () => messages.publish(relayed("new"))));
  assert.deepEqual(seen.read, ["new"]);
  await messages.publish(relayed("new"));
  assert.deepEqual(seen.read, ["new", "new"]);
});

test("a deleted webhook gets nothing, and the others get their messages", async () => {
  const { messages, seen } = scene({ known: ["old"] });
  await messages.publish(relayed("deleted", "old"));
  assert.deepEqual(seen.stored, [["old"]]);
  const why = { kind: "closed", why: "webhook_deleted", waitMs: null };
  assert.deepEqual(await messages.forward(forwarded("deleted")), why);
});

test("a message is rejected while its webhook cannot be read, and accepted afterwards", async () => {
  const { messages, seen, state } = scene({ stored: ["new"] });
  state.trouble = new StoreUnavailableError("away");
  await assert.rejects(messages.publish(relayed("new")), UnavailableError);
  await assert.rejects(messages.forward(forwarded("new")), UnavailableError);
  assert.deepEqual([seen.stored, seen.forwarded], [[], []]);
  state.trouble = null;
  await messages.publish(relayed("new"));
  assert.deepEqual(seen.stored, [["new"]]);
});
