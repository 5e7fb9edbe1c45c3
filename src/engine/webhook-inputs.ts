/** What callers may set on a webhook, through the API as through the library. */
import type {
  CircuitBreakerConfig,
  PayloadFormatName,
  RateLimitConfig,
  SignatureSchemeName,
} from "../core/profile.ts";
import type {
  OAuth2Client,
  OrderingGuarantee,
  VerificationMethod,
  WebhookAgreements,
} from "../core/webhook.ts";

/** Everything a caller may set. Absent keeps the value on update and takes the default on create. */
export interface WebhookInput {
  readonly url?: string;
  readonly events?: readonly string[];
  readonly description?: string;
  readonly ownerId?: string | null;
  readonly tenantId?: string;
  readonly active?: boolean;
  readonly profile?: string;
  readonly schemes?: readonly SignatureSchemeName[] | null;
  /** `whsec_…` or `whsk_…`; generated when absent. Create only. */
  readonly secret?: string;
  /** One of the profile's formats. */
  readonly payloadFormat?: PayloadFormatName | null;
  readonly bearerToken?: string | null;
  readonly bearerTokenIn?: "header" | "query" | null;
  /** Names and values; secret, unlike `headers`. Replaces all that were set. */
  readonly credentialHeaders?: Readonly<Record<string, string>> | null;
  readonly clientCertificate?: ClientCertificateInput | null;
  /** Merged with what is set; a new `tokenUrl` needs the secret again. */
  readonly oauth2?: OAuth2Input | null;
  readonly http2?: boolean | null;
  readonly migrationHeaders?: boolean | null;
  readonly agreements?: Partial<WebhookAgreements> | null;
  /** How the receiver shows that it wants the events (C-32); null is as the profile says. */
  readonly verification?: VerificationMethod | VerificationInput | null;
  /** True is `verification: "challenge"` (WDS-102). */
  readonly verifyUrl?: boolean;
  readonly retry?: RetryInput | null;
  readonly timeoutMs?: number | null;
  readonly circuitBreaker?: Partial<CircuitBreakerConfig> | null;
  readonly rateLimit?: RateLimitConfig | null;
  readonly ordering?: OrderingGuarantee;
  readonly headers?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** `retry_config`: either the exponential fields of WDS-46 to 51, or a list of delays. */
export interface RetryInput {
  readonly maxAttempts?: number;
  readonly baseDelayMs?: number;
  readonly maxDelayMs?: number;
  readonly backoffMultiplier?: number;
  readonly timeoutMs?: number;
  readonly timeoutGrowthFactor?: number;
  readonly scheduleMs?: readonly number[];
  readonly maxAgeMs?: number;
}

/** A certificate for mutual TLS, with its chain, and the key that belongs to it, both in PEM. */
export interface ClientCertificateInput {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** OAuth 2.0 client credentials (RFC 6749, 4.4). The secret is write-only. */
export interface OAuth2Input {
  readonly tokenUrl?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly scope?: string | null;
  readonly audience?: string | null;
  readonly authentication?: OAuth2Client["authentication"];
}

export interface VerificationInput {
  readonly method: VerificationMethod;
  /** `cloudevents` only: requests per minute to ask for (CEW-4.1.4-1). */
  readonly requestedRatePerMinute?: number | null;
  /** `cloudevents` only: what a receiver gets that does not know the handshake (CEW-4-4). */
  readonly whenUnsupported?: "refuse" | "slow";
}
