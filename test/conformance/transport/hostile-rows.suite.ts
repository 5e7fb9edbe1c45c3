/** What a transport must report for each hostile receiver. */
import { describe } from "node:test";
import type { AttemptObservation, TransportFailureCategory } from "../../../src/domain/classify.ts";
import {
  answering,
  answeringThenClosing,
  answeringThenResetting,
  behaviours,
} from "../../peers/hostile-receiver.ts";
import { type CreateTransport, type HostileRow, hostileTest } from "./transport.suite.ts";

const ok = "HTTP/1.1 200 OK\r\n";

function failure(category: TransportFailureCategory): AttemptObservation {
  return { kind: "failure", category, requestSent: true };
}

function response(status: number, { complete }: { complete: boolean }): AttemptObservation {
  return { kind: "response", status, complete };
}

const lost = [failure("network"), { kind: "failure", category: "network", requestSent: false } as const];
const complete = response(200, { complete: true });
const cutShort = response(200, { complete: false });

const slow: readonly HostileRow[] = [
  { title: "EDS-9.3-1 accepts and stays silent", behave: behaviours.silent, expected: failure("timeout") },
  {
    title: "EDS-9.3-1 takes the request and hangs",
    behave: behaviours.hangAfterRequest,
    expected: failure("timeout"),
  },
  { title: "drips its headers", behave: behaviours.dripHead, expected: failure("timeout") },
  {
    title: "drips its body",
    behave: behaviours.dripBody,
    expected: failure("timeout"),
    message: /status 200 seen/,
  },
  {
    title: "EDS-9.3-1 hangs in the status line",
    behave: answering("HTTP/1.1 2"),
    expected: failure("timeout"),
  },
  {
    title: "hangs in the body",
    behave: answering(`${ok}Content-Length: 9\r\n\r\nabc`),
    expected: failure("timeout"),
  },
  {
    title: "hangs after 100 Continue",
    behave: answering("HTTP/1.1 100 Continue\r\n\r\n"),
    expected: failure("timeout"),
  },
];

const large: readonly HostileRow[] = [
  { title: "never ends its body", behave: behaviours.endlessBody, expected: complete },
  { title: "sends a gigabyte", behave: behaviours.gigabyteBody, expected: complete },
  { title: "never ends a chunk extension", behave: behaviours.endlessChunkExtension, expected: complete },
  { title: "never ends its reason phrase", behave: behaviours.endlessReason, expected: failure("protocol") },
  { title: "never ends its headers", behave: behaviours.headerFlood, expected: failure("protocol") },
  {
    title: "sends thousands of 1xx",
    behave: behaviours.interimFlood,
    expected: failure("protocol"),
    message: /1xx/,
  },
  { title: "floods with zeros", behave: behaviours.garbageFlood, expected: failure("protocol") },
  {
    title: "sends a compressed bomb",
    behave: behaviours.gzipBomb,
    expected: complete,
    mayKeepConnection: true,
  },
];

const cut: readonly HostileRow[] = [
  { title: "EDS-9.3-1 resets at accept", behave: behaviours.resetAtAccept, expected: lost },
  { title: "EDS-9.3-1 closes at accept", behave: behaviours.closeAtAccept, expected: lost },
  {
    title: "EDS-9.3-1 resets instead of an answer",
    behave: behaviours.resetBeforeAnswer,
    expected: failure("network"),
  },
  {
    title: "EDS-9.3-1 closes instead of an answer",
    behave: behaviours.closeBeforeAnswer,
    expected: failure("network"),
  },
  {
    title: "EDS-9.3-1 closes in the status line",
    behave: answeringThenClosing("HTTP/1.1 2"),
    expected: failure("network"),
  },
  {
    title: "EDS-9.3-1 resets in the headers",
    behave: answeringThenResetting(`${ok}X-A: 1\r\n`),
    expected: failure("network"),
  },
  {
    title: "EDS-9.3-2 closes before its Content-Length",
    behave: answeringThenClosing(`${ok}Content-Length: 100\r\n\r\n0123456789`),
    expected: cutShort,
    message: /10 bytes/,
  },
  {
    title: "EDS-9.3-2 closes before its Content-Length, connection: close",
    behave: answeringThenClosing(`${ok}Connection: close\r\nContent-Length: 100\r\n\r\n0123456789`),
    expected: cutShort,
  },
  {
    title: "EDS-9.3-2 resets in the body",
    behave: answeringThenResetting(`${ok}Content-Length: 100\r\n\r\n0123456789`),
    expected: cutShort,
  },
  {
    title: "EDS-9.3-2 resets in a body that has no length",
    behave: answeringThenResetting(`${ok}\r\n0123456789`),
    expected: cutShort,
  },
  {
    title: "EDS-9.3-2 closes between chunks without the last one",
    behave: answeringThenClosing(`${ok}Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n`),
    expected: cutShort,
  },
  {
    title: "EDS-9.3-2 closes inside a chunk, connection: close",
    behave: answeringThenClosing(`${ok}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nabcd`),
    expected: cutShort,
  },
];

const malformed: readonly HostileRow[] = [
  {
    title: "does not speak HTTP",
    behave: answering("220 mail.example ESMTP\r\n"),
    expected: failure("protocol"),
  },
  {
    title: "sends a status that is not a number",
    behave: answering("HTTP/1.1 2x0 OK\r\n\r\n"),
    expected: failure("protocol"),
  },
  {
    title: "sends a header without a colon",
    behave: answering(`${ok}nonsense\r\n\r\n`),
    expected: failure("protocol"),
  },
  {
    title: "sends the same length twice",
    behave: answering(`${ok}Content-Length: 2\r\nX-A: 1\r\ncontent-length:2\r\n\r\nab`),
    expected: complete,
  },
  {
    title: "sends a list of equal lengths, and another one",
    behave: answering(`${ok}content-length: 2, 2\r\nContent-Length: 2,2,2\r\n\r\nab`),
    expected: complete,
  },
  {
    title: "sends a list of different lengths",
    behave: answering(`${ok}Content-Length: 2, 3\r\n\r\nab`),
    expected: failure("protocol"),
  },
  {
    title: "sends two different lengths",
    behave: answering(`${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`),
    expected: failure("protocol"),
  },
  {
    title: "sends a chunk size that is not a number",
    behave: answering(`${ok}Transfer-Encoding: chunked\r\n\r\nzz\r\nabcd\r\n0\r\n\r\n`),
    expected: failure("protocol"),
    message: /^after status 200/,
  },
  {
    title: "switches protocols unasked",
    behave: answering(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    ),
    expected: failure("protocol"),
  },
];

/** Unusual behaviour that is allowed or harmless. */
const odd: readonly HostileRow[] = [
  {
    title: "sends more than its Content-Length",
    behave: answering(`${ok}Content-Length: 2\r\n\r\nabcdef`),
    expected: complete,
  },
  {
    title: "sends an unrequested second response",
    behave: answering(`${ok}Content-Length: 2\r\n\r\nabHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n`),
    expected: complete,
  },
  {
    title: "closes after its answer",
    behave: answeringThenClosing(`${ok}Connection: close\r\n\r\nabc`),
    expected: complete,
  },
  {
    title: "EDS-9.2.4-1 sends 103 and then 200",
    behave: answering(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${ok}Content-Length: 0\r\n\r\n`),
    expected: complete,
  },
  {
    title: "EDS-9.2.4-1 sends 100 Continue unasked",
    behave: answering(`HTTP/1.1 100 Continue\r\n\r\n${ok}Content-Length: 0\r\n\r\n`),
    expected: complete,
  },
  {
    title: "EDS-9.2.4-1 drips 100 Continue twice, then 103, then 200",
    behave: async (connection) => {
      await connection.request();
      const interim = "HTTP/1.1 100 Continue\r\nX-A: HTTP/1.1 100\r\n\r\n";
      await connection.drip(
        `${interim}${interim}HTTP/1.1 103 Hints\r\n\r\n${ok}Content-Length: 0\r\n\r\n`,
        1,
      );
    },
    expected: complete,
  },
];

export function hostileSuite(name: string, create: CreateTransport): void {
  const groups = { slow, large, cut, malformed, odd };
  for (const [group, rows] of Object.entries(groups)) {
    describe(`transport ${name}: a receiver that is ${group}`, { concurrency: 4 }, () => {
      for (const row of rows) hostileTest({ mayKeepConnection: group === "odd", ...row }, create);
    });
  }
}
