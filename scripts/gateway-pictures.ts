// The data in the screenshots of the gateway: a shop that receives messages from GitHub and Stripe, and from a cash
// register that does not sign its messages.

import { createHmac, randomUUID } from "node:crypto";
import type { Receiver } from "../test/peers/receiver.ts";
import type { PosthornProcess } from "../test/scenarios/posthorn-process.fixture.ts";

interface FilledGateway {
  readonly github: string;
  readonly rejected: string;
}

interface Made {
  readonly source_id: string;
  readonly url: string;
}

const secrets = { github: "a long random string", stripe: "whsec_of_the_shop" };

/** Creates sources with their connections and requests. One of the requests is signed with the wrong secret. */
export async function fillGateway(server: PosthornProcess, to: Receiver): Promise<FilledGateway> {
  const make = async <T>(path: string, body: object): Promise<T> =>
    (await server.call("POST", path, body)).body as T;
  const source = (name: string, verification: object) => make<Made>("/v1/sources", { name, verification });
  const webhook = async (path: string) => {
    const { id } = await make<{ readonly id: string }>("/v1/webhooks", {
      url: to.url(path),
      events: ["relayed"],
    });
    return id;
  };
  const till = await source("Till of the shop", { type: "none" });
  const stripe = await source("Stripe", { type: "stripe", secrets: [secrets.stripe] });
  const github = await source("GitHub", { type: "github", secrets: [secrets.github] });
  const [bot, orders] = [await webhook("/bot/github"), await webhook("/shop/payments")];
  const filter = { body: { action: { $in: ["opened", "closed"] } } };
  for (const [from, webhookId, more] of [
    [github, bot, { name: "to the bot", filter }],
    [stripe, orders, { name: "to the shop" }],
    [till, orders, { name: "to the shop" }],
  ] as const)
    await make("/v1/connections", { source_id: from.source_id, webhook_id: webhookId, ...more });
  await send(till.url, '{"receipt":4711,"total":19.9}');
  await fromStripe(stripe, "invoice.paid");
  for (const [event, action, secret] of [
    ["pull_request", "opened", secrets.github],
    ["issues", "opened", secrets.github],
    ["issues", "labeled", secrets.github],
    ["push", "opened", "another text"],
    ["issues", "closed", secrets.github],
  ] as const)
    await fromGithub(github.url, event, action, secret);
  await fromStripe(stripe, "charge.refunded");
  const { body } = await server.call("GET", "/v1/requests?outcome=rejected");
  const [rejected] = (body as { readonly data: readonly { readonly id: string }[] }).data;
  return { github: github.source_id, rejected: rejected?.id ?? "" };
}

async function fromGithub(url: string, event: string, action: string, secret: string): Promise<void> {
  const body = JSON.stringify({
    action,
    number: 4711,
    repository: { full_name: "shop/web" },
  });
  const headers = {
    "x-github-event": event,
    "x-github-delivery": randomUUID(),
    "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
  };
  await send(url, body, headers);
}

async function fromStripe({ url }: Made, type: string): Promise<void> {
  const body = JSON.stringify({ id: `evt_${randomUUID().slice(0, 8)}`, type });
  const time = Math.floor(Date.now() / 1_000);
  const signature = createHmac("sha256", secrets.stripe).update(`${time}.${body}`).digest("hex");
  await send(url, body, { "stripe-signature": `t=${time},v1=${signature}` });
}

async function send(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  await fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
}
