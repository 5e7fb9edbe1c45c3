import { readRows } from "./row.ts";

/**
 * draft-mayankpanke-event-delivery-semantics-01, "Event Delivery Semantics".
 */
export const edsRows = readRows(`
EDS-2-1 | P,C,I | design | An Event is a self-contained application-level record; no payload format is required of it, so any media type must be carriable
EDS-2-2 | I | design | An Intermediary relays, transforms, fans out or buffers; it is Producer to its downstream and Consumer to its upstream
EDS-2-3 | P,I | design | Each Delivery Attempt is single, discrete and independent of all others
EDS-2-4 | C | design | An Acknowledgment means receipt only, never processing success, persistence or durability
EDS-2-5 | P | design | Exactly three Sender-Observed Outcomes: Accepted, Transient Failure, Terminal Failure; they are the sole basis of retry decisions
EDS-2-6 | P | design | Idempotency Identifier is producer-supplied and correlates the attempts of one logical Event; consumer dedup is optional
EDS-2-7 | P | design | A Retry is a later attempt for the same logical Event after a non-Accepted outcome
EDS-3.3-1 | all | design | Non-goals: no end-to-end correctness, no exactly-once / at-most-once / effectively-once, no receiver-side storage duty, no payload format
EDS-5-1 | I | design | The semantics apply recursively at each hop
EDS-6.1-1 | P,I | MUST | Treat each attempt as best-effort
EDS-6.1-2 | P,I | MUST NOT | An attempt must not imply receipt, durability or processing
EDS-6.1-3 | P,I | MAY | Retry under sender policy when the outcome is non-terminal
EDS-6.2-1 | P,I | MUST NOT | Retry an attempt solely because of an Accepted outcome
EDS-6.2-2 | P,I | MAY | Retry on Transient, subject to policy
EDS-6.2-3 | P,I | MUST NOT | Retry an attempt solely on a Terminal outcome
EDS-6.2-4 | P,I | MUST | Base retry behaviour solely on Sender-Observed Outcomes
EDS-6.2-5 | P,I | MUST NOT | Infer receiver-side state beyond the signals
EDS-6.3-1 | P | design | Retry is sender-driven; only signalling is standardised, no retry guarantee
EDS-6.3-2 | C | MAY | Consumer may give retry guidance (minimum delay)
EDS-6.3-3 | P | MAY | Sender may honour the guidance (tightened by EDS-9.6-6)
EDS-6.3-4 | P | SHOULD | With explicit guidance and intent to retry, do not retry sooner than indicated ("SHOULD not")
EDS-6.3-5 | P | SHOULD | Apply backoff between retries
EDS-6.4-1 | all | design | Only HTTP is bound; model is transport-independent
EDS-7-1 | C | design | No receiver-side dedup is required or assumed
EDS-7.1-1 | P | MUST | When present, the identifier stays stable across retries of the same logical Event
EDS-7.1-2 | P,C | MUST | Identifier is scoped to the producer-consumer context
EDS-7.1-3 | P | SHOULD | Enough entropy to make collisions negligible within the dedup window
EDS-7.2-1 | C | MAY | Deduplicate by identifier and local policy
EDS-7.2-2 | P,I | MUST | Tolerate duplicate delivery in all cases
EDS-7.2-3 | all | design | Dedup is an optimisation, not a correctness requirement
EDS-7.2-4 | C | SHOULD | A deduplicating Consumer keeps identifier state for a finite Deduplication Window
EDS-7.2-5 | C | SHOULD | Minimum window 24 hours when no value is communicated
EDS-7.2-6 | P | MUST NOT | Reuse an identifier for a distinct logical Event within the Consumer's window
EDS-7.2-7 | P | SHOULD | If the window is unknown, treat it as at least 24 hours
EDS-7.2-8 | P | SHOULD | Generate a fresh identifier per distinct Event regardless
EDS-8-1 | P | SHOULD | Transport-level failures (connection refused, reset, timeout, name resolution) are Transient unless policy says otherwise
EDS-8-2 | P | MAY | Application-level rejection is Transient or Terminal depending on the signal
EDS-8-3 | P | design | Classification only informs sender behaviour: retry, alternate delivery path, operator intervention
EDS-9-1 | P,C | SHOULD | HTTP exchanges implement this binding
EDS-9.1-1 | P | SHOULD | Use POST
EDS-9.1-2 | P | MAY | PUT, with prior agreement that the payload is the replacement state of the request URI's resource
EDS-9.1-3 | P | SHOULD NOT | GET, HEAD, OPTIONS for Delivery Attempts
EDS-9.1-4 | P | MUST | Content-Type accurately names the payload media type
EDS-9.2-1 | P | design | The mappings are the defaults in absence of out-of-band agreement
EDS-9.2-2 | P,C | MAY | Alternative interpretation of individual codes if it is (a) documented in writing, (b) discoverable by operators of both parties, (c) not weakening section 11
EDS-9.2.1-1 | P | SHOULD | 2xx = Accepted
EDS-9.2.1-2 | P | MUST | 200, 201, 202, 204 = Accepted
EDS-9.2.1-3 | P | SHOULD NOT | 207 Accepted without parsing the body
EDS-9.2.1-4 | P,C | MUST | Parties using 207 have prior agreement
EDS-9.2.1-5 | P | SHOULD | Other 2xx Accepted unless agreed otherwise
EDS-9.2.1-6 | P | MUST NOT | Presence or absence of a response body changes a 2xx outcome (except 207)
EDS-9.2.2-1 | P | SHOULD | 408 Transient (ambiguous; safe retry needs Idempotency-Key)
EDS-9.2.2-2 | P | SHOULD | 421 Transient; retry MAY succeed against a re-resolved endpoint
EDS-9.2.2-3 | P | SHOULD | 425 Transient, retry once early-data condition clears
EDS-9.2.2-4 | P | SHOULD | 429 Transient, honour Retry-After if present
EDS-9.2.2-5 | P | SHOULD | 500 Transient, retry with backoff
EDS-9.2.2-6 | P | SHOULD | 502 Transient
EDS-9.2.2-7 | P | SHOULD | 503 Transient, honour Retry-After if present
EDS-9.2.2-8 | P | SHOULD | 504 Transient, same ambiguity as 408
EDS-9.2.2-9 | P | SHOULD | 511 Transient
EDS-9.2.2-10 | P | SHOULD | Every other 5xx Transient unless agreed
EDS-9.2.3-1 | P | SHOULD | 400 Terminal
EDS-9.2.3-2 | P | SHOULD | 401 Terminal
EDS-9.2.3-3 | P | MAY | Producers with rotating credentials: one credential refresh and a single further retry on 401 before Terminal
EDS-9.2.3-4 | P | SHOULD | 403 Terminal
EDS-9.2.3-5 | P | SHOULD | 404 Terminal, reconfiguration required
EDS-9.2.3-6 | P | SHOULD | 405 Terminal
EDS-9.2.3-7 | P | SHOULD | 410 Terminal
EDS-9.2.3-8 | P | SHOULD | On 410 mark the subscription inactive
EDS-9.2.3-9 | P | SHOULD | 413 Terminal
EDS-9.2.3-10 | P | SHOULD | 414 Terminal
EDS-9.2.3-11 | P | SHOULD | 415 Terminal, renegotiate out of band
EDS-9.2.3-12 | P | SHOULD | 422 Terminal
EDS-9.2.3-13 | P | SHOULD | 451 Terminal
EDS-9.2.3-14 | P,Ops | SHOULD | On 451 record and escalate to operator review
EDS-9.2.3-15 | P | SHOULD | Every other 4xx Terminal unless agreed
EDS-9.2.3-16 | P | SHOULD | After the time in a Sunset header (RFC 8594) continued attempts are candidates for Terminal on the next non-Accepted outcome
EDS-9.2.4-1 | P | design | 1xx handled per RFC 9110, not an outcome in itself
EDS-9.2.4-2 | P | design | 3xx handled per RFC 9110 (the class gets no outcome:)
EDS-9.2.4-3 | P | SHOULD | 308 causes the Producer to update its stored endpoint URI before the next attempt
EDS-9.2.4-4 | P | MUST NOT | 307 updates stored configuration
EDS-9.2.5-1 | C | MAY | Return RFC 9457 problem details in error bodies
EDS-9.2.5-2 | P | MUST | Outcome still derived from the status code; problem details are advisory
EDS-9.3-1 | P | MUST | Failure before a complete response status line (refused, reset, TLS handshake failure, request timeout, name resolution) = transport-level failure, by default Transient
EDS-9.3-2 | P | MUST | Request transmitted but response not received in full = Transient with unknown outcome
EDS-9.3-3 | P | design | Safe retry then rests on the Idempotency-Key
EDS-9.4-1 | P | MUST | Every Delivery Attempt carries an Idempotency-Key header with the Idempotency Identifier
EDS-9.4-2 | P,C | MUST | Its syntax and processing are those of the Idempotency-Key draft (section 7 here)
EDS-9.4-3 | P | MUST | Same value on all attempts for the same Event in the same Producer-Consumer Context
EDS-9.4-4 | P | MUST | Enough entropy; a UUID (RFC 9562) or base64url random of ≥ 128 bits satisfies it
EDS-9.4-5 | P,C | design | Producer-Consumer Context = (Producer identity, Consumer endpoint URI)
EDS-9.4-6 | C | MUST | Producer identity = authenticated principal; authentication is REQUIRED in the HTTP binding
EDS-9.4-7 | P,C | design | Consumer endpoint URI = effective request URI after any 308 updates
EDS-9.4-8 | C | design | Two attempts share a key scope iff they share the context
EDS-9.5-1 | C | MAY | Include Retry-After (RFC 9110 10.2.3) on a Transient response
EDS-9.5-2 | P | SHOULD NOT | Start the next attempt of the same Event sooner than Retry-After
EDS-9.5-3 | P | MAY | Add further backoff beyond Retry-After
EDS-9.5-4 | P | design | Retry-After: 0 = no preferred delay, local policy applies
EDS-9.6-1 | P | SHOULD | Monotonically non-decreasing expected delay between successive retries
EDS-9.6-2 | P | SHOULD | Independent randomisation over Producer instances (jitter)
EDS-9.6-3 | P | SHOULD | Finite number of retries, finite total duration, or both (a MUST by 11.8)
EDS-9.6-4 | P | design | Default algorithm: full jitter; retry n (n = 0 is the first retry) waits uniform in [0, min(cap, base·2^n)], base 1 s, cap 60-600 s
EDS-9.6-5 | P | MAY | Other algorithms with the same properties
EDS-9.6-6 | P | MUST | Retry-After that exceeds the computed delay is the lower bound of the next attempt
EDS-9.7-1 | I | MUST | Relay the Idempotency-Key value unchanged
EDS-9.7-2 | I | MUST NOT | Rewrite it even when buffering or fanning out
EDS-9.7-3 | I | MUST NOT | Propagate Retry-After upstream
EDS-9.7-4 | I | MAY | Return any outcome upstream that reflects its own state; hop outcomes are independent
EDS-9.7-5 | I | design | Authentication and integrity are per hop unless an end-to-end mechanism (RFC 9421) binds origin metadata
EDS-9.7-6 | I | MAY | A buffering gateway returns Accepted before its own delivery only if its store-and-forward behaviour is described to upstream operators and the upstream Producer acknowledged it out of band
EDS-9.7-7 | I | MUST NOT | Without both, return Accepted upstream before the downstream attempt was Accepted
EDS-9.8.1-1 | P | info | Example: a POST of JSON with an Idempotency-Key (printed bare, not as a structured string), answered 200, is not retried
EDS-9.8.2-1 | P | info | 503 + Retry-After: 30 → wait at least 30 s, retry with the same key; a deduplicating consumer then processes once
EDS-9.8.3-1 | P | info | 422 + application/problem+json {type, title, status, detail} → Terminal, no retry, details recorded for operator diagnosis
EDS-9.8.4-1 | P | info | Local timeout 60 s with no response bytes → Transient, unknown state, same key, delay by 9.6
EDS-9.9-1 | P | MAY | Multiplex attempts on one HTTP/2 or HTTP/3 connection
EDS-9.9-2 | P | MUST | Stream reset (RST_STREAM; STOP_SENDING / RESET_STREAM) after the request was sent and before a complete response = network-level failure (9.3)
EDS-9.9-3 | P | MUST NOT | Send attempts in TLS 1.3 0-RTT data unless agreed per 9.2's conditions
EDS-9.9-4 | P,C | MUST NOT | Use HTTP/2 or HTTP/3 server push to deliver Events
EDS-11.1-1 | all | info | Threats: producer spoofing, replay, modification, disclosure, retry abuse to amplify load
EDS-11.2-1 | P,C | SHOULD | TLS for all attempts
EDS-11.2-2 | P | SHOULD | Validate endpoint certificates
EDS-11.2-3 | P | SHOULD NOT | Deliver to endpoints that fail certificate validation
EDS-11.3-1 | C | MUST | Authenticate the Producer of each attempt
EDS-11.3-2 | P,C | design | Suitable: RFC 9421 signatures, mutual TLS, bearer token in Authorization; choice is a deployment decision
EDS-11.3-3 | C | MUST NOT | Accept only because of the payload if authentication was not verified
EDS-11.4-1 | P | SHOULD | Protect integrity of payload and security-relevant metadata (TLS; RFC 9421 survives intermediaries)
EDS-11.5-1 | C | MUST | Consumers that act on Events mitigate replay
EDS-11.5-2 | C | MUST | At least one of: (1) dedup in an enforced active window, (2) verified freshness indicator (signed timestamp or nonce) with out-of-window or seen-nonce rejection
EDS-11.5-3 | C | SHOULD NOT | Use the identifier as the sole countermeasure beyond the window
EDS-11.5-4 | C | MUST | Consumers without dedup implement (2)
EDS-11.5-5 | P | MUST NOT | 0-RTT except per 9.9
EDS-11.5-6 | C | MUST | With agreed 0-RTT, rely on (2)
EDS-11.6-1 | P,C | SHOULD | TLS for confidentiality
EDS-11.6-2 | P,I | SHOULD | Avoid logging full payloads at intermediary points without equivalent protection
EDS-11.7-1 | P | SHOULD | Deliver only to explicitly registered or otherwise authorised endpoints
EDS-11.7-2 | P | SHOULD | Validate user-supplied delivery URLs
EDS-11.7-3 | P | SHOULD NOT | Permit delivery into the own trust boundary unless intended (SSRF)
EDS-11.8-1 | P | MUST NOT | Retry without bound
EDS-11.8-2 | P | design | Honouring Retry-After mitigates amplification
EDS-11.8-3 | P | SHOULD | Repeated Terminal outcomes from one endpoint → disable further attempts until operator intervention
EDS-B-1 | Ops | info | Survey of vendors: windows of 10 minutes to several days, bases of a few seconds, caps of minutes, deduplication mostly 24 h, 410 handled in different ways
`);
