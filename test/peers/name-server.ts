/**
 * A name server on UDP that returns TXT, A and AAAA records (RFC 1035, RFC 3596), for tests that need a real one.
 *
 * ```ts
 * const server = await startNameServer();
 * server.records.set("_posthorn-challenge.localhost", ["posthorn-verification=…"]);
 * server.addresses.set("hooks.example.test", ["192.0.2.1", "2001:db8::1"]);
 * createNameLookup([server.address]);
 * ```
 */
import { createSocket } from "node:dgram";
import { isIPv6, SocketAddress } from "node:net";

export interface NameServer {
  /** `127.0.0.1:port` or `[::1]:port`. */
  readonly address: string;
  /** TXT values by lower-case name. Each value is sent in chunks of at most 255 bytes. */
  readonly records: Map<string, readonly string[]>;
  /** IPv4 and IPv6 addresses by lower-case name. */
  readonly addresses: Map<string, readonly string[]>;
  /** Lower-case names that never get a response, regardless of the mood. */
  readonly unanswered: Set<string>;
  /** Time to live of all records, in seconds. */
  ttlS: number;
  /** Names that were queried. */
  readonly questions: string[];
  /** `silent` sends no response; `failing` responds with SERVFAIL. */
  mood: "honest" | "silent" | "failing";
  close(): Promise<void>;
}

const headerBytes = 12;
const rcodes = { none: 0, serverFailure: 2, noSuchName: 3 } as const;
const types = { a: 1, txt: 16, aaaa: 28 } as const;

export async function startNameServer(host: "127.0.0.1" | "::1" = "127.0.0.1"): Promise<NameServer> {
  const socket = createSocket(isIPv6(host) ? "udp6" : "udp4");
  const server: Omit<NameServer, "address"> = {
    records: new Map(),
    addresses: new Map(),
    unanswered: new Set(),
    ttlS: 60,
    questions: [],
    mood: "honest",
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
  socket.on("message", (query, { address, port }) => {
    const { name, end } = readName(query);
    server.questions.push(name);
    if (server.mood === "silent" || server.unanswered.has(name)) return;
    socket.send(answer(server, { query, name, end }), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, host, resolve));
  const { port } = socket.address();
  return Object.assign(server, { address: isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}` });
}

function readName(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = headerBytes;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  // The type and the class follow the name.
  return { name: labels.join(".").toLowerCase(), end: at + 5 };
}

function answer(
  server: Pick<NameServer, "records" | "addresses" | "ttlS" | "mood">,
  { query, name, end }: { readonly query: Buffer; readonly name: string; readonly end: number },
): Buffer {
  const type = query.readUInt16BE(end - 4);
  const addresses = server.addresses.get(name);
  const texts = server.records.get(name);
  const isKnown = texts !== undefined || addresses !== undefined;
  const honest = isKnown ? rcodes.none : rcodes.noSuchName;
  const rcode = server.mood === "failing" ? rcodes.serverFailure : honest;
  const found = [
    ...(type === types.txt ? (texts ?? []).map(textData) : []),
    ...(addresses ?? []).filter((one) => type === (isIPv6(one) ? types.aaaa : types.a)).map(addressData),
  ];
  const answers = rcode === rcodes.none ? found.map((data) => record(type, server.ttlS, data)) : [];
  const header = Buffer.alloc(headerBytes);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | rcode, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(answers.length, 6);
  return Buffer.concat([header, query.subarray(headerBytes, end), ...answers]);
}

function textData(text: string): Buffer {
  const bytes = Buffer.from(text);
  const pieces: Buffer[] = [];
  for (let at = 0; at === 0 || at < bytes.length; at += 255) {
    const piece = bytes.subarray(at, at + 255);
    pieces.push(Buffer.from([piece.length]), piece);
  }
  return Buffer.concat(pieces);
}

function addressData(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split(".").map(Number));
  const [before = "", after = ""] = new SocketAddress({ address, family: "ipv6" }).address.split("::");
  const groups = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const [head, tail] = [groups(before), groups(after)];
  const all = [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

/** The name is a pointer to the question, and the class is IN. */
function record(type: number, ttlS: number, data: Buffer): Buffer {
  const head = Buffer.from([0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 0, 0, 0]);
  head.writeUInt32BE(ttlS, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}
