import { findProfile } from "../../../src/domain/profiles/index.ts";
import type { MessageVerifier } from "../../../src/receiver/message/message.ts";
import type { ReceiverOptions } from "../../../src/receiver/receiver-options.ts";
import { createReceiver, type Receiver } from "../../../src/receiver/receiver.ts";
import { allOf } from "../../../src/receiver/schemes/first-match.ts";
import { createMemoryDeduplicationStore } from "../../../src/receiver/stores/memory.ts";
import { bearer, httpSignatures, standardWebhooks, xWebhook } from "../../../src/receiver/verifiers.ts";
import { verifyingKey } from "../../peers/kit-verifier.ts";
import { bearerToken, keyId, origin, secret } from "./examine.fixture.ts";

/** A verifier configured as the guide to the kit describes for a profile. */
export function verifierOf(profile: string, key: string = secret): MessageVerifier {
  const keys = verifyingKey(key);
  switch (profile) {
    case "event-delivery":
      return httpSignatures({ keys: [keys.startsWith("whsec_") ? { key: keys, keyId } : { key: keys }] });
    case "x-webhook":
      return xWebhook({ secrets: keys });
    case "cloudevents":
      return allOf([standardWebhooks({ keys }), bearer({ tokens: bearerToken, allowQueryParameter: true })]);
    default:
      return standardWebhooks({ keys });
  }
}

/** A correct receiver, built as the guide describes, with a handler that reads the message. */
export function kitReceiver(
  profile: string,
  options: Partial<ReceiverOptions> & { readonly handled?: () => void } = {},
): Receiver {
  const { handled, ...others } = options;
  const isCloudEvents = findProfile(profile)?.registration.verificationRequired === true;
  return createReceiver({
    verifier: verifierOf(profile),
    deduplication: { store: createMemoryDeduplicationStore() },
    handler: (received) => {
      handled?.();
      received.json();
    },
    ...(isCloudEvents && { handshake: { allow: [origin], ratePerMinuteMax: 600 } }),
    ...others,
  });
}
