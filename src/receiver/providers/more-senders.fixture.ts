/** Senders that sign only the body (like Svix) or put the signature inside the body. Similar to senders.fixture.ts. */
import { createHmac } from "node:crypto";
import { type Draft, messageOf, publicUrl, secrets, type Sender, svixSecrets } from "./senders.fixture.ts";
import type { Providers } from "./index.ts";

type Name = Exclude<keyof Providers, "zoomUrlValidation" | "discord" | "sendgrid" | "square" | "twilio">;

const picked = <Value>(values: readonly Value[], keys: readonly (0 | 1)[]): Value[] =>
  keys.map((key) => values[key] as Value);

interface BodySigner {
  readonly header: string;
  readonly hash: "sha1" | "sha256";
  readonly encoding: "hex" | "base64";
  readonly prefix?: string;
  readonly body: string;
  readonly messageId: string | null;
}

function bodySender(name: Name, signer: BodySigner): Sender {
  const { header, hash, encoding, prefix = "", body, messageId } = signer;
  return {
    name,
    isTimed: false,
    body,
    messageId,
    verifier: (providers, keys) => providers[name]({ secrets: picked(secrets, keys), publicUrl }),
    message: (draft: Draft) => {
      const mac = createHmac(hash, secrets[draft.key]).update(draft.body).digest(encoding);
      return messageOf({ [header]: `${prefix}${mac}` }, draft.body);
    },
  };
}

function svixSender(name: Name, word: string): Sender {
  return {
    name,
    isTimed: true,
    body: '{"type":"user.created","data":{"id":"user_1"}}',
    messageId: "msg_1",
    verifier: (providers, keys) => providers[name]({ secrets: picked(svixSecrets, keys), publicUrl }),
    message({ body, timestampSeconds: t, key }) {
      const secret = Buffer.from(svixSecrets[key].slice("whsec_".length), "base64");
      const mac = createHmac("sha256", secret).update(`msg_1.${t}.${body}`).digest("base64");
      return messageOf(
        { [`${word}-id`]: "msg_1", [`${word}-timestamp`]: `${t}`, [`${word}-signature`]: `v1,${mac}` },
        body,
      );
    },
  };
}

export const adyenKeys = ["00ff".repeat(16), "c0de".repeat(16)] as const;

export const adyenItem = {
  pspReference: "7914073381342284",
  merchantAccountCode: "TestMerchant",
  merchantReference: "TestPayment-1407325143704",
  amount: { value: 1130, currency: "EUR" },
  eventCode: "AUTHORISATION",
  success: "true",
};

export const adyenBody = (signature: string, item: object = adyenItem): string =>
  JSON.stringify({
    notificationItems: [
      { NotificationRequestItem: { ...item, additionalData: { hmacSignature: signature } } },
    ],
    live: "false",
  });

export const moreSenders: readonly Sender[] = [
  {
    name: "adyen",
    isTimed: false,
    body: "",
    messageId: "7914073381342284:AUTHORISATION:true",
    verifier: (providers, keys) => providers.adyen({ secrets: picked(adyenKeys, keys) }),
    message({ key }) {
      const signed = "7914073381342284::TestMerchant:TestPayment-1407325143704:1130:EUR:AUTHORISATION:true";
      const mac = createHmac("sha256", Buffer.from(adyenKeys[key], "hex")).update(signed);
      return messageOf({}, adyenBody(mac.digest("base64")));
    },
  },
  {
    name: "hubspot",
    isTimed: true,
    body: '[{"eventId":1,"subscriptionType":"contact.creation"}]',
    messageId: null,
    verifier: (providers, keys) => providers.hubspot({ publicUrl, secrets: picked(secrets, keys) }),
    message({ body, timestampSeconds: t, key }) {
      const mac = createHmac("sha256", secrets[key]).update(`POST${publicUrl}${body}${t}000`);
      return messageOf(
        { "X-HubSpot-Signature-v3": mac.digest("base64"), "X-HubSpot-Request-Timestamp": `${t}000` },
        body,
      );
    },
  },
  {
    name: "mailgun",
    isTimed: true,
    body: "",
    messageId: "e0b5477167110d68991efc6b9f89f0a11066af27834600e123",
    verifier: (providers, keys) => providers.mailgun({ secrets: picked(secrets, keys) }),
    message({ timestampSeconds: t, key }) {
      const token = "e0b5477167110d68991efc6b9f89f0a11066af27834600e123";
      const signature = createHmac("sha256", secrets[key]).update(`${t}${token}`).digest("hex");
      return messageOf(
        {},
        JSON.stringify({
          "signature": { timestamp: `${t}`, token, signature },
          "event-data": { event: "opened" },
        }),
      );
    },
  },
  {
    name: "zendesk",
    isTimed: true,
    body: '{"id":"1","type":"zen:event-type:ticket.created"}',
    messageId: null,
    verifier: (providers, keys) => providers.zendesk({ secrets: picked(secrets, keys) }),
    message({ body, timestampSeconds, key }) {
      const time = new Date(timestampSeconds * 1_000).toISOString().replace(".000Z", "Z");
      const mac = createHmac("sha256", secrets[key]).update(`${time}${body}`).digest("base64");
      return messageOf(
        { "X-Zendesk-Webhook-Signature": mac, "X-Zendesk-Webhook-Signature-Timestamp": time },
        body,
      );
    },
  },
  {
    name: "mailchimp",
    isTimed: false,
    body: "type=subscribe&data%5Bid%5D=8a25ff1d98",
    messageId: null,
    verifier: (providers, keys) => providers.mailchimp({ secrets: picked(secrets, keys) }),
    message: ({ body, key }) => messageOf({}, body, `/in?secret=${encodeURIComponent(secrets[key])}`),
  },
  {
    name: "mandrill",
    isTimed: false,
    body: "mandrill_events=%5B%7B%22event%22%3A%22send%22%7D%5D&a=b",
    messageId: null,
    verifier: (providers, keys) => providers.mandrill({ publicUrl, secrets: picked(secrets, keys) }),
    message({ body, key }) {
      const signed = `${publicUrl}abmandrill_events[{"event":"send"}]`;
      const mac = createHmac("sha1", secrets[key]).update(signed).digest("base64");
      return messageOf({ "X-Mandrill-Signature": mac }, body);
    },
  },
  {
    name: "microsoft_graph",
    isTimed: false,
    body: "",
    messageId: null,
    verifier: (providers, keys) => providers.microsoft_graph({ secrets: picked(secrets, keys) }),
    message: ({ key }) =>
      messageOf({}, JSON.stringify({ value: [{ clientState: secrets[key], changeType: "created" }] })),
  },
  {
    name: "trello",
    isTimed: false,
    body: '{"action":{"id":"51f9424bcd6e040f3c002412","type":"updateCard"}}',
    messageId: null,
    verifier: (providers, keys) => providers.trello({ publicUrl, secrets: picked(secrets, keys) }),
    message({ body, key }) {
      const mac = createHmac("sha1", secrets[key]).update(`${body}${publicUrl}`).digest("base64");
      return messageOf({ "X-Trello-Webhook": mac }, body);
    },
  },
  svixSender("clerk", "svix"),
  svixSender("gitlab", "webhook"),
  svixSender("openai", "webhook"),
  svixSender("resend", "svix"),
  bodySender("bitbucket", {
    header: "X-Hub-Signature",
    hash: "sha256",
    encoding: "hex",
    prefix: "sha256=",
    body: '{"push":{}}',
    messageId: null,
  }),
  bodySender("docusign", {
    header: "X-DocuSign-Signature-1",
    hash: "sha256",
    encoding: "base64",
    body: '{"event":"envelope-completed"}',
    messageId: null,
  }),
  bodySender("intercom", {
    header: "X-Hub-Signature",
    hash: "sha1",
    encoding: "hex",
    prefix: "sha1=",
    body: '{"id":"notif_1","topic":"user.created"}',
    messageId: "notif_1",
  }),
  bodySender("meta", {
    header: "X-Hub-Signature-256",
    hash: "sha256",
    encoding: "hex",
    prefix: "sha256=",
    body: '{"object":"page","entry":[]}',
    messageId: null,
  }),
  bodySender("typeform", {
    header: "Typeform-Signature",
    hash: "sha256",
    encoding: "base64",
    prefix: "sha256=",
    body: '{"event_id":"01JQ","event_type":"form_response"}',
    messageId: "01JQ",
  }),
  bodySender("x", {
    header: "x-twitter-webhooks-signature",
    hash: "sha256",
    encoding: "base64",
    prefix: "sha256=",
    body: '{"for_user_id":"2244994945"}',
    messageId: null,
  }),
];
