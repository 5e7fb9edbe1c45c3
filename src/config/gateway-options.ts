import { option } from "./option.ts";
import { cidr, optionalHeaderName } from "./setting-kinds.ts";
import { integer } from "./value-kinds.ts";

/** Limits and trusted proxies of the role `gateway`. */
export const gateway = {
  gatewayInFlight: option({
    env: "POSTHORN_GATEWAY_IN_FLIGHT",
    group: "Gateway",
    description:
      "Messages in flight in this process whose senders have waited for a webhook for less than a second (`pass_through`). " +
      "Tenants share these slots, and further messages get a 503. After a second a message counts in " +
      "`POSTHORN_WAITING_REQUESTS`.",
    kind: integer({ min: 1, max: 10_000, unit: "messages" }),
    fallback: 100,
  }),
  gatewaySourceInFlight: option({
    env: "POSTHORN_GATEWAY_SOURCE_IN_FLIGHT",
    group: "Gateway",
    description:
      "Messages in flight of one source, regardless of their waiting time, so that a hanging webhook leaves slots for others.",
    kind: integer({ min: 1, max: 10_000, unit: "messages" }),
    fallback: 20,
  }),
  sourcesPerTenant: option({
    env: "POSTHORN_SOURCES_PER_TENANT",
    group: "Gateway",
    description: "Maximum number of sources of a tenant.",
    kind: integer({ min: 0, max: 100_000, unit: "sources" }),
    fallback: 200,
  }),
  clientCertificateHeader: option<string | null>({
    env: "POSTHORN_CLIENT_CERTIFICATE_HEADER",
    group: "Gateway",
    description:
      "Header in which the proxy in front of the role `gateway` passes on the client certificate of a sender (mutual TLS): `Client-Cert` of RFC 9440, percent-encoded PEM, base64, or `X-Forwarded-Client-Cert`. Accepted only from `POSTHORN_TRUSTED_PROXIES`; the proxy must set it and overwrite any value from the sender.",
    kind: optionalHeaderName,
    fallback: null,
    fallbackText: "unset: sources cannot require client certificates",
  }),
  trustedProxies: option<readonly string[]>({
    env: "POSTHORN_TRUSTED_PROXIES",
    group: "Gateway",
    description:
      "Addresses of the proxies in front of the role `gateway`, as CIDR blocks such as `10.0.3.0/24`. Their `X-Forwarded-For` contains the sender's address, by which failed verifications are limited, and their `POSTHORN_CLIENT_CERTIFICATE_HEADER` contains its certificate. Only listed proxies are trusted, even on this machine.",
    kind: cidr,
    fallback: [],
    fallbackText: "none",
  }),
} as const;
