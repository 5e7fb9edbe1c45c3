import { option } from "./option.ts";
import { cidr, optionalHeaderName } from "./setting-kinds.ts";
import { integer } from "./value-kinds.ts";

/** Limits and trusted proxies of the role `gateway`. */
export const gateway = {
  gatewayInFlight: option({
    env: "POSTHORN_GATEWAY_IN_FLIGHT",
    group: "Gateway",
    description:
      "Messages whose senders have waited for a webhook for less than a second, at one time in this process (`pass_through`). " +
      "Tenants share these slots, and further messages are answered 503. After a second a message counts in " +
      "`POSTHORN_WAITING_REQUESTS`.",
    kind: integer({ min: 1, max: 10_000, unit: "messages" }),
    fallback: 100,
  }),
  gatewaySourceInFlight: option({
    env: "POSTHORN_GATEWAY_SOURCE_IN_FLIGHT",
    group: "Gateway",
    description:
      "Messages of one source whose senders wait, however long, so that a webhook that hangs leaves slots for others.",
    kind: integer({ min: 1, max: 10_000, unit: "messages" }),
    fallback: 20,
  }),
  sourcesPerTenant: option({
    env: "POSTHORN_SOURCES_PER_TENANT",
    group: "Gateway",
    description: "Sources that one tenant may have.",
    kind: integer({ min: 0, max: 100_000, unit: "sources" }),
    fallback: 200,
  }),
  clientCertificateHeader: option<string | null>({
    env: "POSTHORN_CLIENT_CERTIFICATE_HEADER",
    group: "Gateway",
    description:
      "Field in which the proxy before the role `gateway` names the client certificate of a sender (mutual TLS): `Client-Cert` of RFC 9440, PEM with its characters encoded, base64, or `X-Forwarded-Client-Cert`. Read from `POSTHORN_TRUSTED_PROXIES` alone; the proxy has to set it itself, over whatever a sender writes there.",
    kind: optionalHeaderName,
    fallback: null,
    fallbackText: "unset: sources cannot ask for client certificates",
  }),
  trustedProxies: option<readonly string[]>({
    env: "POSTHORN_TRUSTED_PROXIES",
    group: "Gateway",
    description:
      "Addresses of the proxies in front of the role `gateway`, as CIDR blocks such as `10.0.3.0/24`. Their `X-Forwarded-For` names the address of a sender, by which failed verifications are limited, and their `POSTHORN_CLIENT_CERTIFICATE_HEADER` its certificate. No proxy is trusted without being named, this machine included.",
    kind: cidr,
    fallback: [],
    fallbackText: "none",
  }),
} as const;
