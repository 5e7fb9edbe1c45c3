/** Zoom: `x-zm-signature: v0=…` over `v0:{x-zm-request-timestamp}:{body}`, with the app's webhook secret token. */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier } from "../message.ts";
import { hexOf, utf8 } from "./bytes.ts";
import { andThen } from "./maybe-promise.ts";
import type { MaybePromise } from "./maybe-promise.ts";
import { misconfigured, secretBytes } from "./options.ts";
import type { SecretOptions, ToleranceOptions } from "./options.ts";
import { fieldOf } from "./reading.ts";
import { createV0Verifier } from "./v0-signature.ts";

export interface ZoomOptions extends SecretOptions, ToleranceOptions {}

/** Message id: none is signed. */
export function createZoomVerifier(crypto: ReceiverCrypto, options: ZoomOptions): MessageVerifier {
  return createV0Verifier(crypto, options, {
    name: "zoom",
    signatureHeader: "x-zm-signature",
    timestampHeader: "x-zm-request-timestamp",
    messageIdOf: () => null,
  });
}

const plainTokenLengthMax = 1_024;

/**
 * The JSON to answer (status 200, `application/json`) when Zoom validates the address, else null. `secret` is the one
 * Zoom uses now. Give it the body of a verified message only: it hashes what it is given.
 */
export function zoomUrlValidation(
  crypto: ReceiverCrypto,
  { secret, body }: { readonly secret: string; readonly body: Uint8Array },
): MaybePromise<string | null> {
  const [key] = secretBytes(secret);
  if (key === undefined) throw misconfigured("a secret is needed");
  if (fieldOf(body, "event") !== "endpoint.url_validation") return null;
  const payload = fieldOf(body, "payload");
  const plainToken =
    typeof payload === "object" && payload !== null && "plainToken" in payload ? payload.plainToken : null;
  if (typeof plainToken !== "string" || plainToken.length > plainTokenLengthMax) return null;
  return andThen(crypto.hmac({ hash: "sha256", key, data: [utf8(plainToken)] }), (mac) =>
    JSON.stringify({ plainToken, encryptedToken: hexOf(mac) }),
  );
}
