/**
 * Providers that send a secret instead of a signature. It authenticates the sender, but does not protect the bytes.
 *
 * GitLab: a secret token is sent unchanged in `X-Gitlab-Token`. A signing token (`whsec_…`) signs like Standard
 * Webhooks. Both may be configured while one replaces the other.
 *
 * Mailchimp: in the query of the URL. Microsoft Graph: in each notification.
 */
import { andThen, type MaybePromise, type ReceiverCrypto, whenAll } from "../crypto/crypto.ts";
import {
  type MessageVerifier,
  type ReceivedMessage,
  type Verification,
  queryOf,
} from "../message/message.ts";
import { anyOf } from "../schemes/first-match.ts";
import { prepareApiKeyVerifier } from "../schemes/plain-credentials.ts";
import { keyTexts, secretBytes, type SecretOptions, type ToleranceOptions } from "./options.ts";
import { schemeOf } from "./provider-table.ts";
import { isRejected, objectOf, rejected, type Rejected, unprovenBody, utf8 } from "./reading.ts";
import { createSchemeVerifier } from "./scheme-verifier.ts";

/** `secrets` are strings that you chose for the query of the URL, as in `?secret=…`. */
export type MailchimpOptions = SecretOptions;
/** `secrets` are the `clientState` of the subscriptions. */
export type MicrosoftGraphOptions = SecretOptions;

const secretLengthMax = 1_024;
const notificationsMax = 1_000;

/** `secrets` are signing tokens, which begin with `whsec_`, and secret tokens. */
export interface GitlabOptions extends SecretOptions, ToleranceOptions {}

export function createGitlabVerifier(crypto: ReceiverCrypto, options: GitlabOptions): MessageVerifier {
  const texts = keyTexts(options.secrets, "secrets");
  const signing = texts.filter((text) => text.startsWith("whsec_"));
  const secret = texts.filter((text) => !text.startsWith("whsec_"));
  const { producer = "gitlab" } = options;
  const signed =
    signing.length > 0 && createSchemeVerifier(crypto, schemeOf("gitlab"), { ...options, secrets: signing });
  const shown =
    secret.length > 0 &&
    prepareApiKeyVerifier(crypto, { header: "X-Gitlab-Token", keys: { [producer]: secret } }, "gitlab");
  return anyOf([signed, shown].filter((verifier) => verifier !== false));
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

/**
 * Creates a verifier for a secret that is sent. It compares MACs instead of the secrets, so that the duration reveals
 * nothing about them.
 */
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
      const macs = [utf8(given), ...known].map((key) => crypto.hmac("sha256", key, data));
      return andThen(whenAll(macs), ([mac, ...expected]) =>
        mac !== undefined && expected.some((one) => crypto.equal(mac, one))
          ? { kind: "verified", scheme: name, producer, messageId: null, timestampSeconds: null }
          : rejected("no_matching_signature", "the secret does not belong to this source"),
      );
    },
  };
}
