import { readRows } from "./row.ts";

/**
 * "Webhook Delivery System with Retries": how a worker operates, the effects of each outage, and how the system scales.
 */
export const wdsOperationRows = readRows(`
WDS-34 | Ops | design | RabbitMQ with priority queues and dead-lettering
WDS-35 | Ops | design | PostgreSQL for configuration and delivery logs
WDS-36 | Ops | design | Redis for circuit state, rate limits and deduplication
WDS-177 | P | design | Workers consume the queue by priority
WDS-178 | P | design | A message carries webhook, event and attempt number
WDS-179 | P | design | Configuration of a webhook is cached for 5 min at most
WDS-180 | P | design | An inactive webhook gets nothing, not even waiting deliveries
WDS-181 | P | design | The circuit is asked before each request
WDS-182 | P | design | Behind an open circuit a delivery waits for the rest of its sleep window, and its history says so
WDS-183 | P | design | A closed circuit lets requests through
WDS-184 | P | design | A limited delivery waits without using up an attempt
WDS-185 | P | design | After the last attempt a delivery is dead-lettered (at once)
WDS-186 | P | design | Each attempt is signed with its own timestamp
WDS-187 | P | design | Each attempt carries the standard headers
WDS-188 | P | design | The timeout follows from the attempt number
WDS-189 | P | design | Start, duration, status and a sample of the response are recorded
WDS-190 | P | design | Outcome and failure category are recorded
WDS-191 | P | design | 2xx: success for the circuit, attempt success
WDS-192 | P | design | Retryable: failure for the circuit, category, next retry time, attempt failed
WDS-193 | P | design | Not retryable: attempt exhausted, dead-lettered with its classification
WDS-194 | P | design | Database or Redis unavailable: the message is requeued (after a short pause)
WDS-195 | P | design | Unexpected exception: logged, message requeued, alert
WDS-196 | P | design | Graceful shutdown releases requests in flight
WDS-197 | P | design | Ordering none: any worker, no order
WDS-198 | P | design | Ordering per_event_type: events of a type in order, types in parallel
WDS-199 | P | design | Ordering strict: events of a webhook one after the other
WDS-200 | P | design | Payload at most 256 KB, configurable
WDS-201 | P | design | A larger payload is refused when published, with a clear error
WDS-202 | P | design | Sample of a response at most 1 KB
WDS-203 | P | info | Later: storage outside for large payloads
WDS-204 | P | design | Database unavailable: messages are requeued, nothing is lost
WDS-205 | Ops | design | Alert after 5 failures of the database in a row
WDS-206 | P | design | Redis unavailable: circuits fall back to closed (to the state in the process), deliveries continue
WDS-207 | P | design | Redis unavailable: limits work without it for a while (kept in the process)
WDS-208 | P | design | Redis unavailable: a warning is logged
WDS-209 | Ops | design | Alert when Redis is unavailable
WDS-210 | P | design | Queue unavailable: reconnect with exponential backoff of up to 5 min
WDS-211 | P | design | Messages in flight go back when the connection is lost
WDS-212 | Ops | design | Alert after 3 failed attempts to reconnect
WDS-213 | P | design | A name that does not resolve is a retryable network failure
WDS-214 | P | design | Successful lookups are cached for up to 5 min
WDS-215 | P,Ops | design | Names that keep failing: the owner is notified
WDS-216 | P | design | What a worker that crashed had in flight is delivered by another one
WDS-217 | P | design | No attempt of a delivery is in the history twice
WDS-218 | P | design | A late 2xx within the timeout is a success; consumers should answer first and process later
WDS-219 | Ops | design | Stateless workers, as many as the depth of the queue requires
WDS-220 | Ops | design | Tenants with much traffic have separate workers
WDS-221 | P | design | Queues for high, normal and low
WDS-222 | Ops | design | Attempts partitioned by month
WDS-223 | Ops | design | Attempts indexed by webhook and time
WDS-224 | Ops | design | History leaves the database after 90 days, for an archive (or permanently)
WDS-225 | P | design | At most 100 connections for each worker, 5 for each host (and 5 for each webhook)
WDS-226 | API | design | Retrying dead letters in a batch is limited in rate
`);
