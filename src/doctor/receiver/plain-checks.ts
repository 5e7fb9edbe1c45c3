import { failed, notApplicable, passed, skipped } from "../finding.ts";
import type { Result } from "../finding.ts";
import type { ProbeAnswer } from "../probe.ts";
import { describe, isAccepted, isRefused } from "./check.ts";
import type { Bench, ReceiverCheck } from "./check.ts";

const json = ["Content-Type", "application/json"] as const;
const oversizedBytes = 5 * 1024 * 1024;

/** What needs no secret, because nothing of it may be accepted by anybody. */
export const plainChecks: readonly ReceiverCheck[] = [
  {
    ...{ id: "unsigned", title: "refuses a message without any credentials", sends: "nothing_valid" },
    requirements: "TS16-19 TS16-55 EDS-11.3-1 EDS-11.3-3",
    run: async (bench) => {
      const answer = await bench.send({
        method: "POST",
        headers: json,
        body: Buffer.from('{"type":"check"}'),
      });
      return isRefused(answer)
        ? passed(describe(answer))
        : failed(`answered ${describe(answer)}`, "Answer 401 to a message that nobody signed.");
    },
  },
  {
    ...{
      id: "unauthorized-status",
      title: "answers 401 to a message it cannot authenticate",
      sends: "nothing_valid",
    },
    requirements: "TS16-19 C-25",
    run: async (bench) => {
      const answer = await bench.send({ method: "POST", headers: json, body: Buffer.from("{}") });
      return answer.kind === "answer" && answer.status === 401
        ? passed("401")
        : failed(
            `answered ${describe(answer)}`,
            "401 tells the sender that the credentials are wrong, and nothing else.",
          );
    },
  },
  {
    ...{ id: "no-challenge", title: "asks for no challenge round trip", sends: "nothing_valid" },
    requirements: "CEW-3-4",
    run: async (bench) => {
      const answer = await bench.send({ method: "POST", headers: json, body: Buffer.from("{}") });
      const asked = answer.kind === "answer" ? answer.headers["www-authenticate"] : undefined;
      if (asked === undefined || /^Bearer\b/i.test(asked)) return passed(asked ?? "no WWW-Authenticate");
      return failed(
        `WWW-Authenticate: ${asked}`,
        "Senders of webhooks answer no challenge; offer Bearer or nothing.",
      );
    },
  },
  {
    ...{ id: "get", title: "does not take a GET for a delivery", sends: "nothing_valid" },
    requirements: "EDS-9.1-3 CEW-2.1-2",
    run: async (bench) => {
      const answer = await bench.send({ method: "GET", headers: [] });
      return isRefused(answer)
        ? passed(describe(answer))
        : failed(`answered ${describe(answer)}`, "Answer 405 with `Allow: POST` to other methods.");
    },
  },
  {
    ...{ id: "method-allow", title: "names POST in Allow when it answers 405", sends: "nothing_valid" },
    requirements: "CEW-4.2-5",
    run: async (bench) => {
      const answer = await bench.send({ method: "PUT", headers: json, body: Buffer.from("{}") });
      if (answer.kind !== "answer" || answer.status !== 405) return notApplicable(`PUT: ${describe(answer)}`);
      const { allow } = answer.headers;
      return allow?.split(",").some((method) => method.trim() === "POST") === true
        ? passed(`Allow: ${allow}`)
        : failed(`Allow: ${allow ?? "(none)"}`, "A 405 carries `Allow: POST` (RFC 9110, 15.5.6).");
    },
  },
  {
    ...{
      id: "oversized",
      title: "ends a body of five megabytes with a client error",
      sends: "nothing_valid",
    },
    requirements: "C-25 EDS-9.2.3-9",
    run: async (bench) => {
      const body = Buffer.alloc(oversizedBytes, "x");
      const answer = await bench.send({ method: "POST", headers: json, body });
      if (isRefused(answer)) return passed(describe(answer));
      // A server may close while the rest is on its way: that is a bound too.
      if (answer.kind === "failure" && /EPIPE|ECONNRESET|socket hang up/.test(answer.message))
        return passed(answer.message);
      return failed(`answered ${describe(answer)}`, "Bound what you read, and answer 413 beyond it.");
    },
  },
  {
    ...{ id: "foreign-origin", title: "grants nothing to a foreign origin", sends: "nothing_valid" },
    requirements: "CEW-4.2-1 CEW-4.2.1-1",
    run: (bench) => askPermission(bench, "posthorn-check.invalid", foreignOrigin),
  },
  {
    ...{ id: "handshake", title: "grants permission to its sender, or answers 405", sends: "nothing_valid" },
    requirements: "CEW-4.2-1 CEW-4.2-4 CEW-4.2-5 CEW-4.2.1-1 CEW-4.2.2-1",
    run: (bench) => askPermission(bench, bench.receiver.origin, ownOrigin),
  },
  {
    ...{ id: "wrong-token", title: "refuses a wrong bearer token", sends: "forged" },
    requirements: "CEW-3-2 CEW-3.1-1 EDS-11.3-3",
    run: async (bench) => {
      if (bench.receiver.bearerToken === null) return skipped("no token was given", "Give --token.");
      const { body, headers } = bench.messages.make();
      const others = headers.filter((_, index) => headers[index - (index % 2)] !== "Authorization");
      const answer = await bench.post({ headers: [...others, "Authorization", "Bearer wrong"], body });
      return isRefused(answer)
        ? passed(describe(answer))
        : failed(`answered ${describe(answer)}`, "Compare the whole token, in constant time.");
    },
  },
];

async function askPermission(
  bench: Bench,
  origin: string,
  judge: (answer: ProbeAnswer & { readonly kind: "answer" }, origin: string) => Result,
): Promise<Result> {
  const headers = ["WebHook-Request-Origin", origin, "WebHook-Request-Rate", "120"];
  const answer = await bench.send({ method: "OPTIONS", headers });
  if (answer.kind === "failure") return failed(answer.message, "Answer OPTIONS, if only with 405.");
  return judge(answer, origin);
}

function foreignOrigin(answer: ProbeAnswer & { readonly kind: "answer" }, origin: string): Result {
  const granted = answer.headers["webhook-allowed-origin"];
  if (granted === undefined) return passed(`${answer.status}, nothing granted`);
  if (granted === "*") return passed("grants every origin (*)");
  if (granted === origin)
    return failed(`grants ${origin}`, "Name only the origins that you agreed with, or * for all of them.");
  return failed(
    `WebHook-Allowed-Origin: ${granted}`,
    "Answer the requested origin, *, or leave the header out.",
  );
}

function ownOrigin(answer: ProbeAnswer & { readonly kind: "answer" }, origin: string): Result {
  const { headers, status } = answer;
  const granted = headers["webhook-allowed-origin"];
  if (granted === undefined) {
    if (status === 405) return notApplicable("405: abuse protection is off");
    return isAccepted(answer)
      ? failed(
          `${status} without WebHook-Allowed-Origin`,
          "Name the origin, or answer 405 while the handshake is off.",
        )
      : passed(`${status}, nothing granted`);
  }
  const rate = headers["webhook-allowed-rate"];
  if (granted !== origin && granted !== "*")
    return failed(`WebHook-Allowed-Origin: ${granted}`, `Answer ${origin} exactly as asked, or *.`);
  if (rate === undefined || !/^(?:\*|[1-9]\d*)$/.test(rate))
    return failed(
      `WebHook-Allowed-Rate: ${rate ?? "(none)"}`,
      "A rate was asked for: answer * or a positive integer.",
    );
  if (headers["allow"]?.includes("POST") !== true)
    return failed(`Allow: ${headers["allow"] ?? "(none)"}`, "Name POST in Allow.");
  return passed(`origin ${granted}, rate ${rate}`);
}
