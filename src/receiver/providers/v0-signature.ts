/** Slack's scheme, which Zoom took over: `v0={hex}`, HMAC-SHA256 over `v0:{timestamp}:{body}`. */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier, ReceivedMessage } from "../message.ts";
import { hexBytes, utf8 } from "./bytes.ts";
import { createHmacVerifier } from "./hmac-verifier.ts";
import { secretBytes, toleranceOf } from "./options.ts";
import type { SecretOptions, ToleranceOptions } from "./options.ts";
import { headerOf, isRejected, rejected, timestampOf } from "./reading.ts";

const prefix = "v0=";
const signatureBytes = 32;

interface V0Scheme {
  readonly name: string;
  readonly signatureHeader: string;
  readonly timestampHeader: string;
  messageIdOf(message: ReceivedMessage): string | null;
}

export function createV0Verifier(
  crypto: ReceiverCrypto,
  options: SecretOptions & ToleranceOptions,
  scheme: V0Scheme,
): MessageVerifier {
  const toleranceSeconds = toleranceOf(options);
  return createHmacVerifier(crypto, {
    name: scheme.name,
    producer: options.producer ?? scheme.name,
    hash: "sha256",
    keys: secretBytes(options.secrets),
    claimOf(message, { nowSeconds }) {
      const header = headerOf(message, scheme.signatureHeader);
      if (isRejected(header)) return header;
      const time = headerOf(message, scheme.timestampHeader);
      if (isRejected(time)) return time;
      const timestampSeconds = timestampOf(time, { nowSeconds, toleranceSeconds });
      if (isRejected(timestampSeconds)) return timestampSeconds;
      const signature = header.startsWith(prefix)
        ? hexBytes(header.slice(prefix.length), { length: signatureBytes })
        : null;
      if (signature === null)
        return rejected("malformed_header", `${scheme.signatureHeader} is not v0= and 64 hexadecimal digits`);
      return {
        contents: [[utf8(`v0:${time}:`), message.body]],
        signatures: [signature],
        timestampSeconds,
      };
    },
    messageIdOf: (message) => scheme.messageIdOf(message),
  });
}
