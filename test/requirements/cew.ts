import { readRows } from "./row.ts";

/**
 * CloudEvents, "HTTP 1.1 Web Hooks for Event Delivery" 1.0.3-wip.
 */
export const cewRows = readRows(`
CEW-1.2-1 | P,C | design | Applies equally to HTTP/2
CEW-2.1-1 | P | MUST | HTTPS (RFC 2818)
CEW-2.1-2 | P | MUST | POST
CEW-2.1-3 | P | MUST | Content-Type carried
CEW-2.1-4 | P | MUST | Payload of that type carried; requests without payload not permitted
CEW-2.1-5 | P | design | Content and target resource not constrained further
CEW-2.1-6 | P | MUST | If the target supports and requires abuse protection, delivery carries WebHook-Request-Origin = DNS name expression of the sending system
CEW-2.2-1 | C | MAY | Response carries a detail payload on errors (format undefined)
CEW-2.2-2 | C | MUST NOT | Use any 3xx
CEW-2.2-3 | P | MUST NOT | Follow a 3xx
CEW-2.2-4 | C | MUST | Accepted *and processed*, with payload: 200 or 201, and the response has Content-Type
CEW-2.2-5 | C | MUST | Accepted and processed, no payload: 201 or 204
CEW-2.2-6 | C | MUST | Accepted, not yet processed or unknown: 202
CEW-2.2-7 | C | SHOULD | Retired target on a living site: 410
CEW-2.2-8 | P | SHOULD | On 410 refrain from any further notifications
CEW-2.2-9 | C | SHOULD / MUST | Over the rate limit: SHOULD 429 and MUST include Retry-After
CEW-2.2-10 | P | MUST | Observe Retry-After of a 429 and refrain from sending *further requests* until then (endpoint-wide)
CEW-2.2-11 | C | MUST | Notification format not understood: 415
CEW-2.2-12 | P,C | design | Other error codes as in RFC 7231
CEW-3-1 | P | MUST | Delivery uses one of the two bearer-token methods below
CEW-3-2 | C | MUST | Target supports both
CEW-3-3 | P | MAY | Any token-based scheme and token shape
CEW-3-4 | P,C | MUST NOT | Challenge-based schemes
CEW-3.1-1 | P | MUST | Token in Authorization; OAuth 2.0 bearer tokens use scheme Bearer
CEW-3.2-1 | P | design | Query method: parameter access_token
CEW-3.2-2 | P | MUST | Other query parameters allowed; separated by & (ASCII 38)
CEW-3.2-3 | P | SHOULD | Query method also sends Cache-Control: no-store
CEW-3.2-4 | C | SHOULD | 2xx answers to such requests carry Cache-Control: private
CEW-3.2-5 | P | SHOULD NOT | Use the query method unless header or body transport is impossible
CEW-4-1 | P,C | design | Consent handshake at registration time, or as pre-flight immediately before a delivery
CEW-4-2 | P,C | design | The handshake is not an authentication or authorisation context
CEW-4-3 | C | SHOULD | Target supports abuse protection
CEW-4-4 | P | MAY | If unsupported: not send at all, or only at a very low rate
CEW-4.1-1 | P | design | Validation request: OPTIONS to the exact target URI being registered
CEW-4.1-2 | P | design | It asks permission and may declare a rate in requests per minute
CEW-4.1.2-1 | P | MUST | WebHook-Request-Origin in the validation request: DNS expression of the system, not of a host, e.g. eventemitter.example.com
CEW-4.1.2-2 | P | MUST | After permission every delivery carries WebHook-Request-Origin with the same value
CEW-4.1.3-1 | P | MAY | WebHook-Request-Callback URL for asynchronous permission
CEW-4.1.3-2 | C | design | The target grants by HTTPS GET or POST on the callback URL; GET also works from the browser of an administrator who finds the URL in a log
CEW-4.1.3-3 | P | MUST | The callback resource supports both GET and POST
CEW-4.1.3-4 | C | MAY | Callback carries WebHook-Allowed-Rate ("response in the callback")
CEW-4.1.3-5 | P | SHOULD | URL contains an identifier of the target and a hard-to-guess secret key, e.g. https://example.com/confirm?id=12345&key=...base64...
CEW-4.1.4-1 | P | MAY | WebHook-Request-Rate: string of a positive integer, requests per minute (example 120)
CEW-4.2-1 | C | MUST | Iff delivery is allowed: reply with WebHook-Allowed-Origin and WebHook-Allowed-Rate
CEW-4.2-2 | C | design | Granting by callback: withhold these response headers
CEW-4.2-3 | P | design | The status code is not consent; only the headers count
CEW-4.2-4 | C | SHOULD | Target that does not otherwise handle OPTIONS: 405
CEW-4.2-5 | C | SHOULD | OPTIONS response has Allow naming POST; others MAY be permitted
CEW-4.2.1-1 | C | MUST | WebHook-Allowed-Origin = the requested origin, or *
CEW-4.2.2-1 | C | MUST / SHOULD | WebHook-Allowed-Rate MUST accompany it when a rate was requested, otherwise SHOULD
CEW-4.2.2-2 | C,P | SHOULD | In the callback model the rate header SHOULD be included; if not, allowed rate SHOULD equal the requested rate
CEW-4.2.2-3 | P | design | Value is * (no limit) or a positive integer, requests per minute (example 100)
CEW-4.2.2-4 | P | design | Above the granted rate expect 429; the sender keeps within it
`);
