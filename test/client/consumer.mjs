// Runs in a project that contains only the packed client, on any Node version from 20 on.
import { createClient, ApiError } from "@posthorn/client";
import { Outbox } from "@posthorn/client/outbox";

const [, , url, key] = process.argv;
const posthorn = createClient({ url, key });
const receipt = await posthorn.publish({ event_type: "consumer.tried", data: { node: process.version } });
const events = await posthorn.events.list({ event_type: ["consumer.tried"] }).take(1);
const refused = await posthorn.publish({ event_type: "no name", data: {} }).catch((error) => error);
process.stdout.write(
  JSON.stringify({
    isThere: events[0]?.id === receipt.id,
    code: refused instanceof ApiError ? refused.code : String(refused),
    outbox: typeof new Outbox({ client: posthorn, store: {} }).add,
  }),
);
