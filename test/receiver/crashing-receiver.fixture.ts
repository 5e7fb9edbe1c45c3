// A receiver in a separate process, for tests that kill it: `node crashing-receiver.fixture.ts FILE MODE`. In mode
// `handler`, it hangs in the handler. In mode `inbox`, it hangs while it processes a message that it has answered with
// 202. Prints each step.
import { DatabaseSync } from "node:sqlite";
import { createInbox } from "../../src/receiver/inbox/inbox.ts";
import { createSqliteInboxStore } from "../../src/receiver/inbox/sqlite-store.ts";
import { createReceiver } from "../../src/receiver/receiver.ts";
import { createSqliteDeduplicationStore } from "../../src/receiver/stores/sqlite.ts";
import { messageWith, nowMs, trustingVerifier } from "./messages.fixture.ts";

const [, , file = "", mode = ""] = process.argv;
const database = new DatabaseSync(file);
const now = () => nowMs;
const say = (text: string) => void process.stdout.write(`${text}\n`);

const hang = () => {
  say("handler");
  return new Promise<undefined>(() => {
    setInterval(() => undefined, 60_000);
  });
};

const inbox = createInbox({ store: createSqliteInboxStore(database), handler: hang, now });
const receiver = createReceiver({
  verifier: trustingVerifier,
  deduplication: { store: createSqliteDeduplicationStore(database) },
  now,
  ...(mode === "inbox" ? { inbox } : { handler: hang }),
});
if (mode === "inbox") inbox.start();
const { status } = await receiver.handle(messageWith());
say(String(status));
