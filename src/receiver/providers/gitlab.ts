import type { ReceiverCrypto } from "../crypto/crypto.ts";
import type { MessageVerifier } from "../message/message.ts";
import { anyOf } from "../schemes/first-match.ts";
import { prepareApiKeyVerifier } from "../schemes/plain-credentials.ts";
import { keyTexts, type SecretOptions, type ToleranceOptions } from "./options.ts";
import { schemeOf } from "./provider-table.ts";
import { createSchemeVerifier } from "./scheme-verifier.ts";

/**
 * GitLab: a signing token (`whsec_…`) signs like Standard Webhooks. A secret token is sent unchanged in
 * `X-Gitlab-Token`; it authenticates the sender, but does not protect the bytes. Both may be configured while one
 * replaces the other.
 */

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
