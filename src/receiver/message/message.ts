import type { ClientCertificateSeen } from "../../core/http/client-certificate.ts";

/**
 * A received request, in the one form that every part of the kit takes. Adapters for frameworks make it from what they
 * have; nothing here depends on a framework, on Node or on the Fetch API.
 */
export interface ReceivedMessage {
  /** Upper case, such as `POST`. */
  readonly method: string;
  /** Path and query as received (`/hooks?x=1`), or an absolute URL. */
  readonly url: string;
  readonly headers: MessageHeaders;
  /** The raw bytes received, before any decoding or parsing (TS16-61). */
  readonly body: Uint8Array;
  /** Of mutual TLS, from whoever ended the connection and is trusted; never read from a header that anybody can write. */
  readonly clientCertificate?: ClientCertificateSeen | null;
}

/** Header fields by name, in any letter case. Several fields of one name are joined with `, ` (RFC 9110, 5.2). */
export interface MessageHeaders {
  /** Null when the field is absent. */
  get(name: string): string | null;
}

/** Why a message was not accepted. The code is stable; it goes into logs and problem details. */
export const rejectionCauses = [
  "missing_header",
  "malformed_header",
  "bad_message_id",
  "bad_timestamp",
  "too_old",
  "too_new",
  "unknown_key",
  "wrong_key_kind",
  "body_altered",
  "no_matching_signature",
  "bad_token",
] as const;
export type RejectionCause = (typeof rejectionCauses)[number];

/** What a verifier says of a message. `detail` is one sentence for the log of the receiver; it never holds a secret. */
export type Verification =
  | {
      readonly kind: "verified";
      /** `v1`, `v1a`, `x-webhook-v1`, `rfc9421-ed25519`, `rfc9421-hmac-sha256`, `bearer`, `stripe`, `github`, … */
      readonly scheme: string;
      /** The authenticated principal: the name under which the key or token was configured (EDS-9.4-6). */
      readonly producer: string;
      /** `Webhook-ID` or the provider's own message id; null when the scheme signs none. */
      readonly messageId: string | null;
      /** Signed time, Unix seconds; null when the scheme signs none. */
      readonly timestampSeconds: number | null;
      /**
       * For schemes that sign a time, where a message has no signed id: what a message that is sent again cannot change,
       * such as a digest of all that was signed. Two messages with the same one are the same message, whatever their
       * headers say.
       */
      readonly replayId?: string | undefined;
      /**
       * Whether the sender vouches for the `Idempotency-Key` header: it is signed, or came with a token that stands for the
       * whole request. Without it the header is not read: whoever captured a message can send it under another key.
       */
      readonly isKeyAuthentic?: boolean | undefined;
    }
  | { readonly kind: "rejected"; readonly cause: RejectionCause; readonly detail: string };

/** Decides whether a message is authentic. Never throws for what an attacker can send. */
export interface MessageVerifier {
  verify(
    message: ReceivedMessage,
    now: { readonly nowSeconds: number },
  ): Verification | Promise<Verification>;
}
