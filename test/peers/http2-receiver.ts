import { once } from "node:events";
import { createSecureServer } from "node:http2";
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { validPair } from "./certificates.ts";

/** A receiver that supports only HTTP/2, or also HTTP/1.1 if `allowHttp1` is set. */
export interface Http2Receiver {
  readonly origin: string;
  readonly requests: readonly Http2Request[];
  readonly sessionCount: number;
  readonly sessionsOpen: number;
  /** Sets the responses from now on. The initial response is 200 with an empty body. */
  answer(answer: (stream: ServerHttp2Stream, index: number) => void): void;
  /** Sends GOAWAY in every session. */
  goAway(): void;
  close(): Promise<void>;
}

export interface Http2Request {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export async function startHttp2Receiver(): Promise<Http2Receiver> {
  const requests: Http2Request[] = [];
  const sessions = new Set<ServerHttp2Session>();
  const sockets = new Set<Socket>();
  let sessionCount = 0;
  let respond = (stream: ServerHttp2Stream, _index: number): void => {
    stream.respond({ ":status": 200 });
    stream.end();
  };
  const server = createSecureServer({ ...validPair });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("session", (session) => {
    sessionCount++;
    sessions.add(session);
    session.on("error", () => session.destroy());
    session.once("close", () => sessions.delete(session));
  });
  server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const chunks: Buffer[] = [];
    stream.on("error", () => stream.destroy());
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      const index = requests.push({ headers, body: Buffer.concat(chunks) }) - 1;
      respond(stream, index);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `https://localhost:${(server.address() as AddressInfo).port}`,
    requests,
    get sessionCount() {
      return sessionCount;
    },
    get sessionsOpen() {
      return sessions.size;
    },
    answer: (answer) => {
      respond = answer;
    },
    goAway: () => {
      for (const session of sessions) session.goaway();
    },
    close: async () => {
      const closed = once(server, "close");
      server.close();
      for (const session of sessions) session.destroy();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
