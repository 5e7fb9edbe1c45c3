/**
 * Code that verifies our messages, in the languages of the `standardwebhooks` family and with our own kit. The secret is read
 * from the environment: where it belongs, and never in a page.
 */
interface VerifyCode {
  readonly name: string;
  readonly install: string;
  readonly code: string;
}

export const verifyCode: readonly VerifyCode[] = [
  {
    name: "Node (kit)",
    install: "npm install @posthorn/receiver",
    code: `import { createServer } from "node:http";
import { createReceiver, standardWebhooks } from "@posthorn/receiver";
import { nodeHttpListener } from "@posthorn/receiver/node-http";
import { createMemoryDeduplicationStore } from "@posthorn/receiver/stores/memory";

const receiver = createReceiver({
  verifier: standardWebhooks({ keys: process.env.WEBHOOK_SECRET ?? "" }),
  deduplication: { store: createMemoryDeduplicationStore() },
  handler: (received) => console.log(received.messageId, received.json()),
});
createServer(nodeHttpListener(receiver)).listen(3000);`,
  },
  {
    name: "JavaScript",
    install: "npm install standardwebhooks",
    code: `import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET);
// The body as it came, before anything parses it.
const payload = webhook.verify(rawBody, headers);`,
  },
  {
    name: "Python",
    install: "pip install standardwebhooks",
    code: `import os
from standardwebhooks import Webhook

webhook = Webhook(os.environ["WEBHOOK_SECRET"])
payload = webhook.verify(raw_body, headers)`,
  },
  {
    name: "Go",
    install: "go get github.com/standard-webhooks/standard-webhooks/libraries/go",
    code: `import standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

webhook, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
if err != nil {
	return err
}
err = webhook.Verify(rawBody, request.Header)`,
  },
  {
    name: "Java",
    install: "implementation 'com.standardwebhooks:standardwebhooks:1.1.0'",
    code: `import com.standardwebhooks.Webhook;

Webhook webhook = new Webhook(System.getenv("WEBHOOK_SECRET"));
webhook.verify(rawBody, headers);`,
  },
  {
    name: "Ruby",
    install: "gem install standardwebhooks",
    code: `require "standardwebhooks"

webhook = StandardWebhooks::Webhook.new(ENV["WEBHOOK_SECRET"])
payload = webhook.verify(raw_body, headers)`,
  },
  {
    name: "PHP",
    install: "composer require standard-webhooks/standard-webhooks",
    code: `$webhook = new \\StandardWebhooks\\Webhook(getenv("WEBHOOK_SECRET"));
$payload = $webhook->verify($rawBody, $headers);`,
  },
  {
    name: "C#",
    install: "dotnet add package StandardWebhooks",
    code: `using StandardWebhooks;

var webhook = new StandardWebhook(Environment.GetEnvironmentVariable("WEBHOOK_SECRET"));
webhook.Verify(rawBody, headers);`,
  },
  {
    name: "Rust",
    install: "cargo add standardwebhooks",
    code: `use standardwebhooks::Webhook;

let webhook = Webhook::new(&std::env::var("WEBHOOK_SECRET")?)?;
webhook.verify(raw_body, &headers)?;`,
  },
];
