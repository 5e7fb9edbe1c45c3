import assert from "node:assert/strict";
import { test } from "node:test";
import { Wording } from "./messages.ts";
import { notificationRoutes } from "./routes.ts";

test("the pages for readers of a mail use the texts of the host, in the language of the channel", async () => {
  const wording = new Wording({
    de: { "confirm.title": "Meldungen von Acme", "unsubscribe.done": "Erledigt." },
  });
  const linked = { address: "ada@example.com", language: "de", consent: { unsubscribedAt: null } };
  const notifications = { wording, linked: async () => linked, decide: async () => linked };
  const routes = notificationRoutes({ services: { notifications } } as never, {} as never);
  const textOf = async (operationId: string) => {
    const route = routes.find((each) => each.operationId === operationId);
    const answer = await route?.handle({ params: { token: "token" } } as never);
    return answer?.text ?? "";
  };
  assert.match(await textOf("showConfirmation"), /<h1>Meldungen von Acme<\/h1>/);
  assert.match(await textOf("unsubscribe"), /<p>Erledigt\.<\/p>/);
  assert.match(await textOf("showUnsubscribe"), /<h1>Nachrichten über Webhooks abbestellen<\/h1>/);
});
