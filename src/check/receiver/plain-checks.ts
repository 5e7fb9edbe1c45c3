import { failed, notApplicable, passed } from "../finding.ts";
import type { Result } from "../finding.ts";
import type { ProbeAnswer } from "../probe.ts";
import { describe, hasStatus, isAccepted, isRefused } from "./check.ts";
import type { Bench, ReceiverCheck } from "./check.ts";

const json = ["Content-Type", "application/json"] as const;
const mebibyte = 1024 * 1024;
const oversizedBytes = 5 * mebibyte;

/** Checks without a secret: no receiver may accept any of these messages. */
export const plainChecks: readonly ReceiverCheck[] = [
  {
    id: "https",
    title: "is reached over HTTPS",
    level: "must",
    sends: "nothing",
    requirements: "CEW-2.1-1",
    fix: "Give senders an https:// URL: without TLS, anyone on the network path can read the messages.",
    run: ({ receiver: { url } }) => {
      if (url.protocol === "https:") return passed("https, and the certificate is valid");
      return isThisMachine(url.hostname) ? notApplicable("http, on this machine") : failed("http");
    },
  },
  {
    id: "unsigned",
    title: "refuses a message without any credentials",
    level: "must",
    requirements: "TS16-19 TS16-55 EDS-11.3-1 EDS-11.3-3",
    sends: "nothing_valid",
    fix: "Answer 401 to an unsigned message.",
    run: async (bench) => refusal(await postUnsigned(bench, '{"type":"check","data":{}}')),
  },
  {
    id: "unauthorized-status",
    title: "answers 401 to a message it cannot authenticate",
    level: "should",
    requirements: "TS16-19",
    sends: "nothing_valid",
    fix: "401 tells the sender that the credentials are wrong.",
    run: async (bench) => {
      const answer = await postUnsigned(bench, "{}");
      if (isAccepted(answer)) return notApplicable(`accepted with ${describe(answer)}`);
      return hasStatus(answer, 401) ? passed("401") : failed(describe(answer));
    },
  },
  {
    id: "no-challenge",
    title: "requires no challenge round trip",
    level: "must",
    requirements: "CEW-3-4",
    sends: "nothing_valid",
    fix: "Senders of webhooks do not answer challenges: offer `WWW-Authenticate: Bearer` or nothing.",
    run: async (bench) => {
      const answer = await postUnsigned(bench, "{}");
      const asked = answer.kind === "answer" ? answer.headers["www-authenticate"] : undefined;
      if (asked === undefined) return passed("no WWW-Authenticate");
      const isChallenge = /\b(?:Basic|Digest|HOBA|Mutual|Negotiate|NTLM|SCRAM-[\w-]+)\b/i.test(asked);
      return isChallenge ? failed(`WWW-Authenticate: ${asked}`) : passed(`WWW-Authenticate: ${asked}`);
    },
  },
  {
    id: "malformed-body",
    title: "refuses an unsigned body that is not JSON",
    level: "must",
    requirements: "TS16-19 TS16-61",
    sends: "nothing_valid",
    fix: "Verify before parsing, and do not let any input throw: a 5xx makes senders retry for days.",
    run: async (bench) => refusal(await postUnsigned(bench, '{"type":')),
  },
  {
    id: "empty-body",
    title: "refuses an unsigned empty body",
    level: "must",
    requirements: "TS16-19 CEW-2.1-4",
    sends: "nothing_valid",
    fix: "An empty body is not a delivery: answer 400 or 401, and do not let it throw.",
    run: async (bench) => refusal(await postUnsigned(bench, "")),
  },
  {
    id: "get",
    title: "does not accept a GET as a delivery",
    level: "must",
    sends: "nothing_valid",
    requirements: "EDS-9.1-3 CEW-2.1-2",
    fix: "Answer 405 with `Allow: POST` to other methods.",
    run: async (bench) => refusal(await bench.send({ method: "GET", headers: [] })),
  },
  {
    id: "method-allow",
    title: "names POST in Allow when it answers 405",
    level: "must",
    requirements: "CEW-4.2-5",
    sends: "nothing_valid",
    fix: "A 405 carries `Allow: POST` (RFC 9110, 15.5.6).",
    run: async (bench) => {
      const answer = await bench.send({ method: "PUT", headers: json, body: Buffer.from("{}") });
      if (answer.kind !== "answer" || answer.status !== 405) return notApplicable(`PUT: ${describe(answer)}`);
      return judgeAllow(answer) ?? passed(`Allow: ${answer.headers["allow"]}`);
    },
  },
  {
    id: "oversized",
    title: "ends a body of five megabytes with a client error",
    level: "must",
    requirements: "EDS-9.2.3-9",
    sends: "nothing_valid",
    fix: "Limit the size that you read, and answer 413 beyond it.",
    run: async (bench) => {
      const body = Buffer.alloc(oversizedBytes, "x");
      return bounded(await bench.send({ method: "POST", headers: json, body }));
    },
  },
  {
    id: "endless-body",
    title: "stops reading a body that does not end",
    level: "must",
    requirements: "EDS-9.2.3-9",
    sends: "nothing_valid",
    fix: "Count the bytes as they arrive, and answer 413 or close the connection: Content-Length may be missing.",
    run: async (bench) => {
      const answer = await bench.send({
        method: "POST",
        headers: json,
        body: { bytesMax: bench.endlessBytesMax },
      });
      const isRead = answer.kind === "answer" && answer.isBodyTaken;
      if (!isRead) return bounded(answer);
      return failed(
        `read all of ${bench.endlessBytesMax / mebibyte} MiB of unsigned data, then ${describe(answer)}`,
      );
    },
  },
  {
    id: "foreign-origin",
    title: "grants nothing to a foreign origin",
    level: "must",
    requirements: "CEW-4.2-1 CEW-4.2.1-1",
    sends: "nothing_valid",
    fix: "Grant only the origins that you agreed on, or * for all origins.",
    run: (bench) => askPermission(bench, "posthorn-check.invalid", foreignOrigin),
  },
  {
    id: "handshake",
    title: "grants permission to its sender, or no permission",
    level: "must",
    requirements: "CEW-4.2-1 CEW-4.2-5 CEW-4.2.1-1 CEW-4.2.2-1",
    sends: "nothing_valid",
    fix: "Answer OPTIONS with WebHook-Allowed-Origin and WebHook-Allowed-Rate, or with 405.",
    run: (bench) => askPermission(bench, bench.receiver.origin, ownOrigin),
  },
];

function postUnsigned(bench: Bench, body: string): Promise<ProbeAnswer> {
  return bench.send({ method: "POST", headers: json, body: Buffer.from(body) });
}

function refusal(answer: ProbeAnswer): Result {
  return isRefused(answer) ? passed(describe(answer)) : failed(describe(answer));
}

/** A server may close the connection while data is being sent, which also enforces a limit. */
function bounded(answer: ProbeAnswer): Result {
  const isCutOff = answer.kind === "failure" && answer.cause === "closed";
  return isCutOff ? passed(answer.message) : refusal(answer);
}

function isThisMachine(host: string): boolean {
  return /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/i.test(host);
}

type Answered = ProbeAnswer & { readonly kind: "answer" };

async function askPermission(
  bench: Bench,
  origin: string,
  judge: (answer: Answered, bench: Bench) => Result,
): Promise<Result> {
  const headers = ["WebHook-Request-Origin", origin, "WebHook-Request-Rate", "120"];
  const answer = await bench.send({ method: "OPTIONS", headers });
  if (answer.kind === "failure") return failed(answer.message, "Answer OPTIONS, at least with 405.");
  return judge(answer, bench);
}

function foreignOrigin(answer: Answered): Result {
  const granted = answer.headers["webhook-allowed-origin"];
  if (granted === undefined) return passed(`${answer.status}, nothing granted`);
  return granted === "*" ? passed("grants every origin (*)") : failed(`WebHook-Allowed-Origin: ${granted}`);
}

function ownOrigin(answer: Answered, { receiver: { origin, profile } }: Bench): Result {
  const granted = answer.headers["webhook-allowed-origin"];
  if (granted === undefined) return nothingGranted(answer, profile.registration.verificationRequired);
  if (granted !== origin && granted !== "*")
    return failed(`WebHook-Allowed-Origin: ${granted}`, `Answer ${origin} exactly as requested, or *.`);
  const rate = answer.headers["webhook-allowed-rate"];
  if (rate === undefined || !/^(?:\*|[1-9]\d*)$/.test(rate))
    return failed(
      `WebHook-Allowed-Rate: ${rate ?? "(none)"}`,
      "A rate was requested: answer * or a positive integer.",
    );
  return judgeAllow(answer) ?? passed(`origin ${granted}, rate ${rate}`);
}

/**
 * Permission is only in the headers (CloudEvents web hooks, section 4.2), so a status without them proves nothing, and
 * Allow is not required.
 */
function nothingGranted({ status }: Answered, isRequired: boolean): Result {
  if (status === 405) return notApplicable("405: it does not require permission");
  if (!isRequired)
    return notApplicable(`${status}, nothing granted; the profile does not require permission`);
  return failed(
    `${status} without WebHook-Allowed-Origin`,
    "Allow this origin, or give the one you agreed on: --origin.",
  );
}

function judgeAllow({ headers: { allow } }: Answered): Result | null {
  const names = allow?.split(",").map((name) => name.trim()) ?? [];
  return names.includes("POST") ? null : failed(`Allow: ${allow ?? "(none)"}`, "Include POST in Allow.");
}
