/** Mistakes in how a receiver responds, rather than in how it verifies. */
import { answerWith } from "./sloppy-receiver.fixture.ts";
import type { Arrival } from "./sloppy-receiver.fixture.ts";
import { isAccepted, isPost, isSigned, rewrite, when } from "./planted-faults.fixture.ts";
import type { PlantedFault } from "./planted-faults.fixture.ts";

const megabyte = 1_000_000;

const answers: readonly PlantedFault[] = [
  {
    name: "answers 200 without a body",
    fault: rewrite((answer) => (isAccepted(answer) ? answerWith(200) : answer)),
    fails: ["success-status"],
  },
  {
    name: "answers 200 with a body and no Content-Type",
    fault: rewrite((answer) => (isAccepted(answer) ? { status: 200, headers: {}, body: "ok" } : answer)),
    fails: ["success-status"],
  },
  {
    name: "redirects",
    fault: when(({ method }) => method === "PUT", answerWith(302, { location: "/hooks/" })),
    fails: ["no-redirect"],
  },
  {
    name: "is slow",
    fault: () => async (_, honest) => {
      const answer = await honest();
      if (isAccepted(answer)) await new Promise((resolve) => setTimeout(resolve, 250));
      return answer;
    },
    receiver: { promptMs: 200 },
    fails: ["prompt"],
  },
  {
    name: "throws at a body that is no JSON, before it verifies",
    fault: when((one) => one.body === '{"type":' && !isSigned(one), answerWith(500)),
    fails: ["malformed-body", "no-server-error"],
  },
  {
    name: "throws at signed bytes that are no JSON",
    fault: when((one) => one.body === '{"type":' && isSigned(one), answerWith(500)),
    fails: ["signed-non-json"],
  },
  {
    name: "takes an empty body for a ping",
    fault: when((one) => isPost(one) && one.body === "" && !isSigned(one) && !isLarge(one), answerWith(204)),
    fails: ["empty-body"],
  },
  {
    name: "verifies what it has parsed and printed again",
    fault: () => (arrival, honest) => {
      if (arrival.body.startsWith("{") && arrival.body.endsWith("}\r\n"))
        return honest({ body: JSON.stringify(JSON.parse(arrival.body)) });
      return honest();
    },
    fails: ["raw-bytes"],
  },
  {
    name: "looks for headers in one letter case",
    fault: when(
      (one) => isSigned(one) && !one.rawNames.includes("Webhook-ID") && isOdd(one),
      answerWith(401),
    ),
    fails: ["header-case"],
  },
  {
    name: "limits the rate without saying for how long",
    fault: when(
      ({ headers }) => headers["content-type"] === "application/vnd.posthorn-check",
      answerWith(429),
    ),
    fails: ["retry-after"],
    skips: ["media-type"],
  },
  {
    name: "answers 400 to an unknown media type",
    fault: rewrite((answer) => (answer.status === 415 ? answerWith(400) : answer)),
    fails: ["media-type"],
  },
  {
    name: "takes a GET",
    fault: when(({ method }) => method === "GET", { status: 200, headers: {}, body: "It works!" }),
    fails: ["get"],
  },
  {
    name: "answers 405 without Allow",
    fault: rewrite((answer) => (answer.status === 405 ? answerWith(405) : answer)),
    fails: ["method-allow"],
  },
  {
    name: "takes five megabytes from attackers",
    // Reads all bytes, because unread bytes may cause a reset before the response is read.
    readsBytes: 6 * megabyte,
    fault: when(({ headers }) => Number(headers["content-length"] ?? 0) > megabyte, answerWith(204)),
    fails: ["oversized"],
  },
  {
    name: "reads whatever comes before it looks",
    readsBytes: Infinity,
    fault: () => (_, honest) => honest(),
    fails: ["endless-body"],
  },
];

const keys: readonly PlantedFault[] = [
  ...[409, 404].map((status) => ({
    name: `answers ${status} to a repeat`,
    fault: () => {
      const seen = new Set<string>();
      return async (arrival: Arrival, honest: () => Promise<ReturnType<typeof answerWith>>) => {
        const message = `${arrival.headers["webhook-id"]} ${arrival.body}`;
        if (seen.has(message)) return answerWith(status, { "retry-after": "1" });
        const answer = await honest();
        if (isAccepted(answer)) seen.add(message);
        return answer;
      };
    },
    fails: ["duplicate"],
  })),
  {
    name: "accepts a known key with another body",
    fault: rewrite((answer) => (answer.status === 422 ? answerWith(204) : answer)),
    fails: ["key-reuse"],
  },
  {
    name: "throws when the same message comes twice at once",
    fault: rewrite((answer) => (answer.status === 409 ? answerWith(500) : answer)),
    fails: ["concurrent"],
  },
  {
    name: "answers 409 without Retry-After",
    fault: rewrite((answer) => (answer.status === 409 ? answerWith(409) : answer)),
    fails: ["concurrent"],
  },
  {
    name: "answers 422 to a missing key",
    fault: when((one) => isSigned(one) && one.headers["idempotency-key"] === undefined, answerWith(422)),
    fails: ["missing-key"],
  },
  {
    name: "throws at a key without quotes",
    fault: when(({ headers }) => /^[^"]/.test(headers["idempotency-key"] ?? ""), answerWith(500)),
    fails: ["bare-key"],
  },
  {
    name: "throws at a long key",
    fault: when(({ headers }) => (headers["idempotency-key"]?.length ?? 0) > 1_000, answerWith(500)),
    fails: ["long-key"],
  },
];

const foreign = "posthorn-check.invalid";
const handshake: readonly PlantedFault[] = [
  {
    name: "grants permission to anybody by name",
    fault: when(
      ({ headers }) => headers["webhook-request-origin"] === foreign,
      answerWith(200, { "webhook-allowed-origin": foreign, "webhook-allowed-rate": "*", allow: "POST" }),
    ),
    fails: ["foreign-origin"],
  },
  ...[
    { name: "grants a rate of zero", change: { "webhook-allowed-rate": "0" } },
    { name: "grants no rate", change: { "webhook-allowed-rate": undefined } },
    { name: "grants without Allow", change: { allow: undefined } },
    { name: "grants another origin", change: { "webhook-allowed-origin": "https://sender.example.com" } },
    { name: "grants nothing to its own sender", change: { "webhook-allowed-origin": undefined } },
  ].map(({ name, change }) => ({
    name,
    profile: "cloudevents",
    fault: rewrite((answer, { method }) => {
      if (method !== "OPTIONS" || answer.headers["webhook-allowed-origin"] === undefined) return answer;
      const headers = Object.entries({ ...answer.headers, ...change }).filter(
        ([, value]) => value !== undefined,
      );
      return { ...answer, headers: Object.fromEntries(headers) as Record<string, string> };
    }),
    fails: ["handshake"],
  })),
];

function isLarge({ headers }: Arrival): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"]) > megabyte;
}

function isOdd({ rawNames }: Arrival): boolean {
  return rawNames.some((name) => name === "wEbHoOk-sIgNaTuRe");
}

export const manners: readonly PlantedFault[] = [...answers, ...keys, ...handshake];
