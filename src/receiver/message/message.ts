import type { ClientCertificateSeen } from "../../core/http/client-certificate.ts";

/**
 * A received request in the form that every part of the kit uses. Framework adapters create it; it does not depend on a
 * framework, on Node or on the Fetch API.
 */
export interface ReceivedMessage {
  /** Upper case, such as `POST`. */
  readonly method: string;
  /** Path and query as received (`/hooks?x=1`), or an absolute URL. */
  readonly url: string;
  readonly headers: MessageHeaders;
  /** The raw bytes received, before any decoding or parsing. */
  readonly body: Uint8Array;
  /**
   * The client certificate of mutual TLS, from a trusted component that terminated the connection; never from a header
   * that senders can set.
   */
  readonly clientCertificate?: ClientCertificateSeen | null;
}

/**
 * Header fields by case-insensitive name. Several fields with the same name are joined with `, ` (RFC 9110, section
 * 5.2).
 */
export interface MessageHeaders {
  /** Null if the field is absent. */
  get(name: string): string | null;
}

/** Why a message was not accepted. The codes are stable; they are used in logs and problem details. */
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

/** The result of verifying a message. `detail` is one sentence for the receiver's log; it never contains a secret. */
export type Verification =
  | {
      readonly kind: "verified";
      /** `v1`, `v1a`, `x-webhook-v1`, `rfc9421-ed25519`, `rfc9421-hmac-sha256`, `bearer`, `stripe`, `github`, … */
      readonly scheme: string;
      /** The authenticated sender: the name under which the key or token was configured. */
      readonly producer: string;
      /** `Webhook-ID` or the provider's message id; null if the scheme signs none. */
      readonly messageId: string | null;
      /** Signed time, Unix seconds; null if the scheme signs none. */
      readonly timestampSeconds: number | null;
      /**
       * For schemes that sign a time, if a message has no signed id: a value that a replayed message cannot change,
       * such as a digest of all signed content. Two messages with the same value are the same message, whatever their
       * headers say.
       */
      readonly replayId?: string | undefined;
      /**
       * Whether the sender vouches for the `Idempotency-Key` header: it is signed, or came with a token that
       * authenticates the whole request. Otherwise the header is ignored, because a captured message could be replayed
       * under another key.
       */
      readonly isKeyAuthentic?: boolean | undefined;
    }
  | { readonly kind: "rejected"; readonly cause: RejectionCause; readonly detail: string };

/** Decides whether a message is authentic. Never throws for input from an attacker. */
export interface MessageVerifier {
  verify(
    message: ReceivedMessage,
    now: { readonly nowSeconds: number },
  ): Verification | Promise<Verification>;
}
