import { parseSecret } from "../../core/signing/signing-key.ts";
import { prepareSigner, type Signer } from "../../core/signing/standard-webhooks.ts";
import type { ApiClient } from "../api-client.ts";
import { UsageError } from "../failures.ts";
import type { Terminal } from "../terminal.ts";
import { printArrival, type PrintedParts } from "./delivery-line.ts";
import type { ReceivedDelivery, ReceiverAnswer } from "./local-receiver.ts";
import { findSource, followSource, type FollowedRequest } from "./source-follower.ts";

/** Forwards requests of a gateway source to this machine. */
export async function listenToSource(order: {
  readonly name: string;
  readonly client: ApiClient;
  readonly terminal: Terminal;
  readonly parts: PrintedParts;
  /** Signs forwarded requests like a webhook with these secrets. */
  readonly secrets: readonly string[];
  readonly stopped: Promise<unknown>;
  /** Null only prints. */
  readonly forward: ((delivery: ReceivedDelivery) => Promise<ReceiverAnswer>) | null;
}): Promise<void> {
  const { name, client, terminal, parts, secrets, stopped, forward } = order;
  const sign = secrets.length === 0 ? null : signerOf(secrets);
  const source = await findSource(client, name);
  const stop = new AbortController();
  void stopped.then(() => stop.abort());
  await followSource({
    client,
    sourceId: String(source["id"]),
    signal: stop.signal,
    begun: () => {
      terminal.note(`listening to source ${String(source["name"])}. Stop with Ctrl C`);
      if (forward === null) terminal.note("requests are not forwarded. Use --forward-to 3000");
      else if (sign === null)
        terminal.note("forwarded requests are unsigned. Use --secret whsec_… to sign them");
    },
    missed: () => terminal.note("too many requests, some are not shown"),
    reject: ({ rejection_cause: cause, detail }) =>
      terminal.note(`rejected, ${String(cause)}${typeof detail === "string" ? `: ${detail}` : ""}`),
    receive: async (request) => {
      const delivery = sign === null ? request.delivery : signed(request, sign);
      const answer = forward === null ? { status: 204 } : await forward(delivery);
      const { scheme, id, type } = request;
      const verified = { kind: "verified", scheme, producer: name, messageId: id } as const;
      printArrival(terminal, {
        delivery,
        answer,
        verification: { ...verified, timestampSeconds: null },
        question: null,
        parts,
        known: { id, type },
      });
    },
  });
}

function signerOf(secrets: readonly string[]): Signer {
  const keys = secrets.map((text) => {
    const key = parseSecret(text);
    if (key.kind === "invalid") throw new UsageError(`--secret cannot sign: ${key.detail}`);
    return key;
  });
  return prepareSigner(keys);
}

/** Signs the request like the profile `standard`. */
function signed({ id, delivery }: FollowedRequest, sign: Signer): ReceivedDelivery {
  const timestampSeconds = Math.floor(Date.now() / 1_000);
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": sign({ messageId: id, timestampSeconds, body: delivery.body }),
  };
  return { ...delivery, headers: { ...delivery.headers, ...headers } };
}
