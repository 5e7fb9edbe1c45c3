/**
 * Providers that check an address by HEAD, GET or a token before they use it, and have unusual proofs: Mandrill signs
 * the address and the parameters of a form; Mailchimp and Microsoft Graph sign nothing and send a secret, in the query
 * of the address or in each notification.
 */
import { andThen, type MaybePromise, type ReceiverCrypto, whenAll } from "../crypto/crypto.ts";
import {
  type MessageVerifier,
  type ReceivedMessage,
  type Verification,
  queryOf,
} from "../message/message.ts";
import { type Claim, createClaimVerifier, hmacProof } from "./claim-verifier.ts";
import { publicUrlOf, type PublicUrlOptions, secretBytes, type SecretOptions } from "./options.ts";
import {
  base64Bytes,
  headerOf,
  isRejected,
  objectOf,
  rejected,
  type Rejected,
  textOf,
  unprovenBody,
  utf8,
} from "./reading.ts";

/** `secrets` are the keys of the webhook; `publicUrl` is its address exactly as entered at Mandrill. */
export interface MandrillOptions extends SecretOptions, PublicUrlOptions {}
/** `secrets` are texts that you chose for the query of the address, as `?secret=…`. */
export type MailchimpOptions = SecretOptions;
/** `secrets` are the `clientState` of the subscriptions. */
export type MicrosoftGraphOptions = SecretOptions;

const signatureBytes = 20;
const formBytesMax = 4_194_304;
const parametersMax = 100;
const secretLengthMax = 1_024;
const notificationsMax = 1_000;

export function createMandrillVerifier(crypto: ReceiverCrypto, options: MandrillOptions): MessageVerifier {
  const address = publicUrlOf(options);
  return createClaimVerifier(crypto, {
    name: "mandrill",
    producer: options.producer ?? "mandrill",
    proof: hmacProof(crypto, "sha1", secretBytes(options.secrets)),
    claimOf: (message) => mandrillClaim(message, address),
    isMessageIdUnsigned: true,
    messageIdOf: () => null,
  });
}

function mandrillClaim(message: ReceivedMessage, address: string): Claim | Rejected {
  const header = headerOf(message, "X-Mandrill-Signature");
  if (isRejected(header)) return header;
  const signature = base64Bytes(header, signatureBytes);
  if (signature === null)
    return rejected("malformed_header", "X-Mandrill-Signature is not 20 bytes in base64");
  if (message.body.length > formBytesMax) return rejected("body_altered", "the form is too large");
  const form = new URLSearchParams(textOf(message.body));
  if (form.size === 0 || form.size > parametersMax)
    return rejected("body_altered", `the form does not have 1 to ${parametersMax} parameters`);
  const names = [...form.keys()];
  if (new Set(names).size < names.length) return rejected("body_altered", "the form repeats a parameter");
  const parameters = names.toSorted().map((name) => name + (form.get(name) ?? ""));
  return {
    contents: [[utf8(address + parameters.join(""))]],
    signatures: [signature],
    timestampSeconds: null,
  };
}

export function createMailchimpVerifier(crypto: ReceiverCrypto, options: MailchimpOptions): MessageVerifier {
  return secretVerifier(crypto, "mailchimp", options, ({ url }) => {
    const [secret, ...others] = queryOf(url).getAll("secret");
    if (secret === undefined || secret === "") return rejected("missing_header", "the query has no secret");
    if (others.length > 0) return rejected("malformed_header", "the query has several secrets");
    return secret;
  });
}

export function createMicrosoftGraphVerifier(
  crypto: ReceiverCrypto,
  options: MicrosoftGraphOptions,
): MessageVerifier {
  return secretVerifier(crypto, "microsoft_graph", options, (message) => {
    const body = unprovenBody(message);
    if (isRejected(body)) return body;
    const { value } = body;
    if (!Array.isArray(value) || value.length === 0 || value.length > notificationsMax)
      return rejected(
        "body_altered",
        `the body does not have 1 to ${notificationsMax} notifications in value`,
      );
    const states = new Set(value.map((one: unknown) => objectOf(one)?.["clientState"]));
    const [state] = states;
    if (states.size !== 1 || typeof state !== "string" || state === "")
      return rejected("body_altered", "the notifications do not share one clientState");
    return state;
  });
}

/** Compares under a MAC, so that the duration reveals nothing about the secret. */
function secretVerifier(
  crypto: ReceiverCrypto,
  name: string,
  { secrets, producer = name }: SecretOptions,
  secretOf: (message: ReceivedMessage) => string | Rejected,
): MessageVerifier {
  const known = secretBytes(secrets);
  const data = [utf8(name)];
  return {
    verify(message): MaybePromise<Verification> {
      const given = secretOf(message);
      if (isRejected(given)) return given;
      if (given.length > secretLengthMax) return rejected("no_matching_signature", "the secret is too long");
      const macs = [utf8(given), ...known].map((key) => crypto.hmac({ hash: "sha256", key, data }));
      return andThen(whenAll(macs), ([mac, ...expected]) =>
        mac !== undefined && expected.some((one) => crypto.equal(mac, one))
          ? { kind: "verified", scheme: name, producer, messageId: null, timestampSeconds: null }
          : rejected("no_matching_signature", "the secret does not belong to this source"),
      );
    },
  };
}
