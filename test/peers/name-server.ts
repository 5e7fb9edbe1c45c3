/**
 * A name server on UDP that knows TXT records and nothing else (RFC 1035), for tests that ask a real one.
 *
 * ```ts
 * const server = await startNameServer();
 * server.records.set("_posthorn-challenge.localhost", ["posthorn-verification=…"]);
 * createNameLookup({ servers: [server.address] });
 * ```
 */
import { createSocket } from "node:dgram";

export interface NameServer {
  /** `127.0.0.1:port`. */
  readonly address: string;
  /** Texts by name in lower case; each is sent in pieces of at most 255 bytes. */
  readonly records: Map<string, readonly string[]>;
  /** Names that were asked for. */
  readonly questions: string[];
  /** `silent` answers nothing, `failing` answers SERVFAIL. */
  mood: "honest" | "silent" | "failing";
  close(): Promise<void>;
}

const headerBytes = 12;
const rcodes = { none: 0, serverFailure: 2, noSuchName: 3 } as const;

export async function startNameServer(): Promise<NameServer> {
  const socket = createSocket("udp4");
  const server: Omit<NameServer, "address"> = {
    records: new Map(),
    questions: [],
    mood: "honest",
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
  socket.on("message", (query, { address, port }) => {
    const { name, end } = readName(query);
    server.questions.push(name);
    if (server.mood !== "silent") socket.send(answer(server, { query, name, end }), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return Object.assign(server, { address: `127.0.0.1:${socket.address().port}` });
}

function readName(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = headerBytes;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  // After the name come type and class.
  return { name: labels.join(".").toLowerCase(), end: at + 5 };
}

function answer(
  server: Pick<NameServer, "records" | "mood">,
  { query, name, end }: { readonly query: Buffer; readonly name: string; readonly end: number },
): Buffer {
  const texts = server.records.get(name);
  const honest = texts === undefined ? rcodes.noSuchName : rcodes.none;
  const rcode = server.mood === "failing" ? rcodes.serverFailure : honest;
  const answers = rcode === rcodes.none ? (texts ?? []).map(textRecord) : [];
  const header = Buffer.alloc(headerBytes);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | rcode, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(answers.length, 6);
  return Buffer.concat([header, query.subarray(headerBytes, end), ...answers]);
}

/** The name is a pointer to the question; type TXT, class IN, a minute to live. */
function textRecord(text: string): Buffer {
  const bytes = Buffer.from(text);
  const pieces: Buffer[] = [];
  for (let at = 0; at === 0 || at < bytes.length; at += 255) {
    const piece = bytes.subarray(at, at + 255);
    pieces.push(Buffer.from([piece.length]), piece);
  }
  const data = Buffer.concat(pieces);
  const head = Buffer.from([0xc0, 0x0c, 0, 16, 0, 1, 0, 0, 0, 60, 0, 0]);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}
