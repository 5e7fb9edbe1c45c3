/**
 * A client that handles a 503 of the API. It waits for `Retry-After` and repeats the call if the call changed nothing
 * or has an Idempotency-Key. A slow store on a busy machine therefore only delays a test.
 */
import { type Client, clientOf, type ClientOptions, createClient, type Reply } from "./api/client.fixture.ts";
import { waitMsMax } from "./eventually.fixture.ts";

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

/** Whether to repeat a call. The first request with a key may still be running when the second one arrives. */
function asksForRepeat({ status, text, body }: Reply, isKeyed: boolean): boolean {
  if (status === 503) return isKeyed || /nothing was changed/i.test(text);
  return isKeyed && status === 409 && (body["code"] as unknown) === "idempotency_key_in_progress";
}
