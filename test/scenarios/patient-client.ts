/**
 * A client that does what a 503 of the API asks for: it waits for as long as `Retry-After` says and calls again, where
 * nothing was changed, or where the call has an Idempotency-Key. So a store that a busy machine keeps from answering costs
 * a scene time, and nothing else.
 */
import { type Client, clientOf, type ClientOptions, createClient, type Reply } from "./api/client.ts";
import { waitMsMax } from "./eventually.ts";

export function patientClient(options: ClientOptions): Client {
  const { baseUrl } = options;
  const once = createClient(options);
  const call: Client["call"] = async (method, path, given = {}) => {
    const isKeyed = given.headers?.["idempotency-key"] !== undefined;
    const deadline = performance.now() + waitMsMax;
    for (;;) {
      const reply = await once.call(method, path, given);
      if (!asksForRepeat(reply, isKeyed) || performance.now() > deadline) return reply;
      const seconds = Number(reply.headers.get("retry-after"));
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    }
  };
  return clientOf({ baseUrl, call, withKey: (key) => patientClient({ baseUrl, key }) });
}

/** The first request under a key may still run when the second comes. */
function asksForRepeat({ status, text, body }: Reply, isKeyed: boolean): boolean {
  if (status === 503) return isKeyed || /nothing was changed/i.test(text);
  return isKeyed && status === 409 && (body["code"] as unknown) === "idempotency_key_in_progress";
}
