import { failed, notApplicable, passed, skipped } from "../finding.ts";
import type { Result } from "../finding.ts";
import { headerText, keyOf, sentAtMs } from "./record.ts";
import type { RecordedEvent, RecordedRequest } from "./record.ts";
import type { SenderRule, SenderSession } from "./rule.ts";

/** Timers of some platforms fire slightly early. */
const timerMs = 50;
/** Signed times are whole seconds, so they must differ only between attempts that are further apart than this. */
const clockTickMs = 2_000;

/** Rules about a sender's behaviour after a refusal. */
export const retryRules: readonly SenderRule[] = [
  {
    id: "retries",
    title: "retries after 503",
    level: "must",
    requirements: "EDS-9.2.2-7 TS16-90 WDS-130",
    fix: "Retry after 503, with the same key or message id; or let the check run longer: --duration-seconds.",
    judge: ({ events }) => {
      const count = events[0]?.requests.length ?? 0;
      return count > 1 ? passed(`${count} requests`) : failed("the first event was not sent again");
    },
  },
  {
    id: "retry-after",
    title: "waits as long as Retry-After requires",
    level: "must",
    requirements: "EDS-9.5-2 EDS-9.6-6 TS16-110",
    fix: "Retry-After is the minimum wait.",
    judge: (session) =>
      retried(session, ({ first, second }) => {
        const gapMs = Math.round(second.arrivedAtMs - first.arrivedAtMs);
        const asked = first.retryAfterSeconds ?? 0;
        return gapMs >= asked * 1000 - timerMs
          ? passed(`${gapMs} ms after 503 with Retry-After: ${asked}`)
          : failed(`sent again after ${gapMs} ms, but Retry-After was ${asked}`);
      }),
  },
  {
    id: "same-bytes",
    title: "sends the same bytes again",
    level: "must",
    requirements: "TS16-35 EDS-7.1-1 IDK-3",
    fix: "Render the body once and keep it. If these were two events, each needs its own key.",
    judge: (session) =>
      retried(session, ({ first, requests }) =>
        requests.every(({ body }) => body.equals(first.body))
          ? passed(`${first.body.length} bytes`)
          : failed("the body changed between two attempts"),
      ),
  },
  {
    id: "same-names",
    title: "sends the same key and message id again",
    level: "must",
    requirements: "TS16-31 EDS-9.4-3",
    fix: "Key and message id belong to the event, not to the attempt.",
    judge: (session) =>
      retried(session, ({ first, requests }) => {
        const id = (request: RecordedRequest): string | null => headerText(request.headers, "webhook-id");
        if (keyOf(first) === null && id(first) === null) return notApplicable("it has neither");
        const isSame = requests.every((one) => keyOf(one) === keyOf(first) && id(one) === id(first));
        return isSame ? passed(`${requests.length} requests`) : failed("another one in a later attempt");
      }),
  },
  {
    id: "fresh-timestamp",
    title: "signs each attempt with the current time",
    level: "must",
    requirements: "TS16-34",
    fix: "A correct receiver refuses a message signed long ago: sign every attempt.",
    judge: (session) =>
      retried(session, ({ first, second }) => {
        const [before, after] = [sentAtMs(first), sentAtMs(second)];
        if (before === null || after === null) return notApplicable("no signed time was seen");
        if (after !== before) return passed(`${(after - before) / 1000} s later`);
        return second.arrivedAtMs - first.arrivedAtMs < clockTickMs
          ? notApplicable("both attempts arrived within one tick of the clock")
          : failed("the time is that of the first attempt");
      }),
  },
  {
    id: "redirect",
    title: "does not follow redirects",
    level: "must",
    requirements: "TS16-97 CEW-2.2-3",
    fix: "A redirect is a response, not a new address: count it as a failure.",
    judge: ({ followed, events }) => {
      if (followed.length > 0) return failed("requested the target of a 307");
      return events.length > 1 ? passed("307 was not followed") : secondEventMissing;
    },
  },
  {
    id: "distinct-keys",
    title: "uses a separate key for every event",
    level: "must",
    requirements: "EDS-7.2-6 EDS-7.2-8 IDK-3",
    fix: "Create a new key, such as a UUID, for each event.",
    judge: ({ events }) => {
      if (events.length < 2) return secondEventMissing;
      const keys = events.flatMap(({ requests: [first] }) =>
        first === undefined ? [] : (keyOf(first) ?? []),
      );
      if (keys.length === 0) return notApplicable("no event has a key");
      return new Set(keys).size === keys.length
        ? passed(`${keys.length} events`)
        : failed("two events had the same key");
    },
  },
];

const secondEventMissing: Result = skipped(
  "only one event arrived",
  "Publish a second event while the check runs.",
);

interface Attempts extends RecordedEvent {
  readonly first: RecordedRequest;
  readonly second: RecordedRequest;
}

/** The first event, which got a 503, once it was sent again. */
function retried({ events }: SenderSession, judge: (attempts: Attempts) => Result): Result {
  const requests = events[0]?.requests ?? [];
  const [first, second] = requests;
  if (first === undefined || second === undefined)
    return skipped("the first event was not sent again", "Fix `retries` first, or let the check run longer.");
  return judge({ requests, first, second });
}
