/** Receivers with a single mistake, and the rules that must detect it. */
import type { ReceiverUnderCheck } from "../../../src/check/receiver/messages.ts";
import { contentDigest } from "../../../src/domain/signing/http-signatures.ts";
import type { ReceiverAnswer } from "../../../src/receiver/answers.ts";
import type { ReceiverOptions } from "../../../src/receiver/receiver-options.ts";
import { answerWith, type Arrival, type Fault } from "./sloppy-receiver.fixture.ts";

export interface PlantedFault {
  readonly name: string;
  /** The default is `standard`. */
  readonly profile?: string;
  readonly fault: () => Fault;
  /** The rules that must fail; all others must not fail. */
  readonly fails: readonly string[];
  /** Rules that the fault makes impossible to decide. */
  readonly skips?: readonly string[];
  readonly kit?: Partial<ReceiverOptions>;
  /** How many bytes of a body are read before any check; one mebibyte by default. */
  readonly readsBytes?: number;
  readonly receiver?: Partial<ReceiverUnderCheck>;
}

const staleSeconds = 600;

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

function isAccepted({ status }: ReceiverAnswer): boolean {
  return status >= 200 && status < 300;
}

/** The ID in the body, which equals the signed ID. */
function idIn({ body }: Arrival): string | null {
  return /"check": ?"([0-9a-f-]{36})"/.exec(body)?.[1] ?? null;
}

function isPost({ method }: Arrival): boolean {
  return method === "POST";
}

function isSigned({ headers }: Arrival): boolean {
  return ["webhook-signature", "x-webhook-signature", "signature"].some(
    (name) => headers[name] !== undefined,
  );
}

/** Sends its own response if the condition holds; otherwise behaves correctly. */
function when(test: (arrival: Arrival) => boolean, answer: ReceiverAnswer): () => Fault {
  return () => (arrival, honest) => (test(arrival) ? answer : honest());
}

/** Rewrites the response of a correct receiver. */
function rewrite(change: (answer: ReceiverAnswer, arrival: Arrival) => ReceiverAnswer): () => Fault {
  return () => async (arrival, honest) => change(await honest(), arrival);
}

/** Tries the request with each change until one is accepted, like a receiver that does not check the changed part. */
function ignoring(
  changes: (arrival: Arrival) => readonly (Partial<Arrival> & { readonly now?: number })[],
): () => Fault {
  return () => async (arrival, honest) => {
    const answer = await honest();
    if (answer.status !== 401) return answer;
    for (const change of changes(arrival)) {
      const other = await honest(change);
      if (isAccepted(other)) return other;
    }
    return answer;
  };
}

function withHeaderValue({ headers }: Arrival, change: Readonly<Record<string, string>>): Partial<Arrival> {
  return { headers: { ...headers, ...change } };
}

/** Whether the message was sent just now, even on a slow machine. Stale messages are ten minutes old. */
function isFresh(seconds: unknown): boolean {
  return Math.abs(Number(seconds) - nowSeconds()) < staleSeconds / 2;
}

/**
 * The possible signing times of a message whose timestamp was changed to the current time. The check signed the message
 * shortly before the change, so the time may differ by some seconds.
 */
function signedSeconds(moved: unknown): readonly number[] {
  return secondsBefore.map((before) => Number(moved) - staleSeconds - before);
}

/** Gives the request its original time, and processes it as if it had arrived at that time. */
function movedTo(
  signedSeconds: number,
  change: Partial<Arrival>,
): Partial<Arrival> & { readonly now: number } {
  return { ...change, now: signedSeconds * 1000 };
}

const secondsBefore = Array.from({ length: 30 }, (_, before) => before);

/** Faults in how a receiver authenticates messages. */
const authentication: readonly PlantedFault[] = [
  {
    name: "accepts messages without credentials",
    fault: when(
      (one) => isPost(one) && !isSigned(one) && one.body.startsWith('{"type":"check"'),
      answerWith(204),
    ),
    fails: ["unsigned"],
  },
  {
    name: "answers 403 to attackers",
    fault: rewrite((answer) => (answer.status === 401 ? answerWith(403) : answer)),
    fails: ["unauthorized-status"],
  },
  {
    name: "asks for a password",
    fault: rewrite((answer) =>
      answer.status === 401 ? answerWith(401, { "www-authenticate": 'Basic realm="hooks"' }) : answer,
    ),
    fails: ["no-challenge"],
  },
  {
    name: "accepts an altered body",
    fault: ignoring(({ body }) => [{ body: body.replace("forged", "honest") }]),
    fails: ["altered-body"],
  },
  {
    name: "accepts any well-formed signature",
    fault: () => async (arrival, honest) => {
      const { headers, body } = arrival;
      const answer = await honest();
      const isPlausible =
        answer.status === 401 &&
        /^v1,[\w+/]{43}=$/.test(headers["webhook-signature"] ?? "") &&
        headers["webhook-id"] === idIn(arrival) &&
        body.includes("honest") &&
        isFresh(headers["webhook-timestamp"]) &&
        isFresh(Date.parse(/"timestamp":"(.+?)"/.exec(body)?.[1] ?? "") / 1000);
      return isPlausible ? answerWith(204) : answer;
    },
    fails: ["wrong-key"],
  },
  {
    name: "accepts old messages",
    fault: ignoring(({ headers }) => {
      const now = Number(headers["webhook-timestamp"]) * 1000;
      return now < Date.now() ? [{ now }] : [];
    }),
    fails: ["old-timestamp"],
  },
  {
    name: "accepts messages from the future",
    fault: ignoring(({ headers }) => {
      const now = Number(headers["webhook-timestamp"]) * 1000;
      return now > Date.now() ? [{ now }] : [];
    }),
    fails: ["future-timestamp"],
  },
  {
    name: "does not sign the time",
    fault: ignoring((arrival) => {
      const moved = arrival.headers["webhook-timestamp"];
      if (!isFresh(moved)) return [];
      return signedSeconds(moved).map((signed) =>
        movedTo(signed, withHeaderValue(arrival, { "webhook-timestamp": String(signed) })),
      );
    }),
    fails: ["moved-timestamp"],
  },
  {
    name: "does not sign the message id",
    fault: ignoring((arrival) =>
      arrival.headers["webhook-id"] === undefined
        ? []
        : [withHeaderValue(arrival, { "webhook-id": idIn(arrival) ?? "" })],
    ),
    fails: ["moved-id"],
  },
  ...["webhook-signature", "webhook-id", "webhook-timestamp"].map((name) => ({
    name: `accepts messages without ${name}`,
    fault: when(
      (one) =>
        isPost(one) &&
        one.headers[name] === undefined &&
        ["webhook-signature", "webhook-id", "webhook-timestamp"].filter((other) => one.headers[other])
          .length === 2,
      answerWith(204),
    ),
    fails: [`without-${name}`],
  })),
  {
    name: "answers 500 to a garbled signature",
    fault: when(({ headers }) => headers["webhook-signature"]?.includes("%%%") === true, answerWith(500)),
    fails: ["garbage-signature", "no-server-error"],
  },
  {
    name: "does not look at the version of a signature",
    fault: ignoring((arrival) => [
      withHeaderValue(arrival, {
        "webhook-signature": (arrival.headers["webhook-signature"] ?? "").replaceAll("v9,", "v1,"),
      }),
    ]),
    fails: ["unknown-signature-version"],
  },
  {
    name: "looks at the first signature alone",
    fault: () => (arrival, honest) =>
      honest(
        withHeaderValue(arrival, {
          "webhook-signature": (arrival.headers["webhook-signature"] ?? "").replace(/ .*/, ""),
        }),
      ),
    fails: ["rotation"],
  },
];

/** Faults in signature schemes of other profiles. */
const otherSchemes: readonly PlantedFault[] = [
  {
    name: "x-webhook: does not sign the time",
    profile: "x-webhook",
    fault: ignoring((arrival) => {
      const value = arrival.headers["x-webhook-signature"] ?? "";
      const [, time] = /^t=(\d+),/.exec(value) ?? [];
      if (!isFresh(time)) return [];
      return signedSeconds(time).map((signed) => {
        const moved = { "x-webhook-signature": value.replace(/t=\d+/, `t=${signed}`) };
        return movedTo(signed, withHeaderValue(arrival, moved));
      });
    }),
    fails: ["moved-timestamp"],
  },
  {
    name: "x-webhook: does not miss the signature",
    profile: "x-webhook",
    fault: when(
      ({ headers }) => headers["x-webhook-id"] !== undefined && headers["x-webhook-signature"] === undefined,
      answerWith(202),
    ),
    fails: ["without-x-webhook-signature"],
  },
  {
    name: "RFC 9421: does not sign the time",
    profile: "event-delivery",
    fault: ignoring((arrival) => {
      const value = arrival.headers["signature-input"] ?? "";
      const [, time] = /;created=(\d+);/.exec(value) ?? [];
      if (!isFresh(time)) return [];
      return signedSeconds(time).map((signed) => {
        const moved = { "signature-input": value.replace(/;created=\d+/, `;created=${signed}`) };
        return movedTo(signed, withHeaderValue(arrival, moved));
      });
    }),
    fails: ["moved-timestamp"],
  },
  {
    name: "RFC 9421: compares the digest and believes it",
    profile: "event-delivery",
    fault: ignoring((arrival) => {
      const { body, headers } = arrival;
      if (headers["content-digest"] !== contentDigest(Buffer.from(body))) return [];
      const signed = body.replace("forged", "honest");
      const digest = { "content-digest": contentDigest(Buffer.from(signed)) };
      return [{ ...withHeaderValue(arrival, digest), body: signed }];
    }),
    fails: ["replaced-digest"],
  },
  {
    name: "RFC 9421: is content with less than the body",
    profile: "event-delivery",
    fault: when(
      ({ headers }) => /\("@method" "@target-uri"\)/.test(headers["signature-input"] ?? ""),
      answerWith(204),
    ),
    fails: ["narrow-signature"],
  },
  {
    name: "RFC 9421: takes any key",
    profile: "event-delivery",
    fault: ignoring((arrival) => [withHeaderValue(arrival, { "idempotency-key": `"${idIn(arrival)}"` })]),
    fails: ["moved-key"],
  },
  ...["signature", "signature-input", "content-digest"].map((name) => ({
    name: `RFC 9421: accepts messages without ${name}`,
    profile: "event-delivery",
    fault: when(
      (one) => one.headers[name] === undefined && one.headers["idempotency-key"] !== undefined,
      answerWith(204),
    ),
    fails: [`without-${name}`],
  })),
  {
    name: "accepts any token",
    profile: "cloudevents",
    fault: ignoring((arrival) =>
      arrival.headers["authorization"] === undefined
        ? []
        : [withHeaderValue(arrival, { authorization: "Bearer a-token-of-the-check" })],
    ),
    fails: ["wrong-token"],
  },
  {
    name: "misses no token",
    profile: "cloudevents",
    fault: ignoring((arrival) =>
      arrival.headers["authorization"] === undefined
        ? [withHeaderValue(arrival, { authorization: "Bearer a-token-of-the-check" })]
        : [],
    ),
    fails: ["without-token"],
  },
  {
    name: "lets caches keep what a token in the query got",
    profile: "cloudevents",
    fault: rewrite((answer) => ({ ...answer, headers: { ...answer.headers, "cache-control": "public" } })),
    fails: ["query-token"],
  },
];

export { authentication, otherSchemes, when, rewrite, isAccepted, isPost, isSigned };
