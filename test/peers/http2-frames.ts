import type { Behaviour } from "./hostile-receiver.ts";
import { validPair } from "./certificates.ts";
import type { KeyPair } from "./certificates.ts";

/**
 * HTTP/2 frame by frame (RFC 9113), for receivers that do what node:http2 does not allow. `answeringFrames` is a
 * behaviour of the hostile receiver with `tls: http2Pair`. It waits for a complete request on stream 1 and writes the
 * given frames.
 */
export const http2Pair: KeyPair & { readonly ALPNProtocols: string[] } = {
  ...validPair,
  ALPNProtocols: ["h2"],
};

const prefaceLength = 24;
const headLength = 9;
const endStream = 0x1;
const endHeaders = 0x4;
const types = { data: 0, headers: 1, reset: 3, settings: 4, pushPromise: 5, ping: 6, goAway: 7 };
/** In HPACK, an entry of the static table takes one byte. */
const status200 = 0x88;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

export const frames = {
  settings: encode({ type: types.settings }),
  settingsAck: encode({ type: types.settings, flags: 1 }),
  ok: encode({ type: types.headers, flags: endHeaders, streamId: 1, payload: Buffer.of(status200) }),
  ping: encode({ type: types.ping, payload: Buffer.alloc(8) }),
  /** `:status: 103` as a literal whose name is the entry with index 8. */
  earlyHints: encode({
    type: types.headers,
    flags: endHeaders,
    streamId: 1,
    payload: Buffer.from([0x08, 3, ...Buffer.from("103")]),
  }),
  /** A pushed POST request that uses the static entries for method, scheme and path. */
  push: encode({
    type: types.pushPromise,
    flags: endHeaders,
    streamId: 1,
    payload: Buffer.from([0, 0, 0, 2, 0x83, 0x87, 0x84]),
  }),
  data: (text: string): Buffer => encode({ type: types.data, streamId: 1, payload: Buffer.from(text) }),
  lastData: (text: string): Buffer =>
    encode({ type: types.data, flags: endStream, streamId: 1, payload: Buffer.from(text) }),
  reset: (code: number): Buffer => encode({ type: types.reset, streamId: 1, payload: word(code) }),
  goAway: ({ lastStreamId, code }: { lastStreamId: number; code: number }): Buffer =>
    encode({ type: types.goAway, payload: Buffer.concat([word(lastStreamId), word(code)]) }),
};

/** Writes `answer` once a request is complete, then ends the connection if `afterwards` requires it. */
export function answeringFrames(
  answer: readonly Buffer[],
  {
    afterwards = "stay",
    seen,
  }: { afterwards?: "stay" | "close" | "flood"; seen?: (frames: readonly Frame[]) => void } = {},
): Behaviour {
  return async (connection) => {
    let received = Buffer.alloc(0);
    const complete = new Promise<readonly Frame[]>((resolve) => {
      const onData = (chunk: Buffer): void => {
        received = Buffer.concat([received, chunk]);
        const found = decode(received.subarray(prefaceLength));
        if (!found.some(endsRequest)) return;
        connection.socket.off("data", onData);
        resolve(found);
      };
      connection.socket.on("data", onData);
    });
    await connection.write(Buffer.concat([frames.settings, frames.settingsAck]));
    const request = await complete;
    seen?.(request);
    await connection.write(Buffer.concat([...answer]));
    if (afterwards === "close") connection.end();
    const pings = Buffer.concat(Array.from({ length: 1000 }, () => frames.ping));
    if (afterwards === "flood") await connection.flood(pings, Number.POSITIVE_INFINITY);
  };
}

/** Whether a SETTINGS frame disables push: identifier 2, value 0. */
export function refusesPush(seen: readonly Frame[]): boolean {
  const settings = seen.filter((frame) => frame.type === types.settings && frame.flags === 0);
  return settings.some(({ payload }) => payload.indexOf(Buffer.from([0, 2, 0, 0, 0, 0])) % 6 === 0);
}

function endsRequest({ type, flags, streamId }: Frame): boolean {
  return streamId === 1 && (type === types.data || type === types.headers) && (flags & endStream) !== 0;
}

function encode(frame: { type: number; flags?: number; streamId?: number; payload?: Buffer }): Buffer {
  const { type, flags = 0, streamId = 0, payload = Buffer.alloc(0) } = frame;
  const head = Buffer.alloc(headLength);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/** The complete frames at the start of `bytes`. */
function decode(bytes: Buffer): Frame[] {
  const found: Frame[] = [];
  for (let at = 0; at + headLength <= bytes.length; ) {
    const end = at + headLength + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    found.push({
      type: bytes[at + 3] ?? 0,
      flags: bytes[at + 4] ?? 0,
      streamId: bytes.readUInt32BE(at + 5),
      payload: bytes.subarray(at + headLength, end),
    });
    at = end;
  }
  return found;
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
