/** What others send: every method and media type below `/in/` and `/_webhooks/`, as bytes, without a key of the API. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { BodyMemory } from "../body-memory.ts";
import type { ApiOptions } from "../context.ts";
import { clientCertificateReader } from "./client-certificate.ts";
import { bodyTooLarge, readBody } from "../request-body.ts";

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"] as const;

export function serveInbound(app: FastifyInstance, options: ApiOptions, memory: BodyMemory): void {
  const { gateway, limits } = options;
  const bytesMax = limits.payloadBytesMax;
  const { clientCertificates = null } = options;
  const certificateOf =
    clientCertificates === null ? () => null : clientCertificateReader(clientCertificates);
  void app.register((child, _, done) => {
    child.removeAllContentTypeParsers();
    child.addContentTypeParser("*", (request, payload, parsed) => {
      readBody(payload, { bytesMax, memory, caller: request.ip }, parsed);
    });
    const handler = (request: FastifyRequest, reply: FastifyReply): void => {
      const { body, raw, method, originalUrl: url } = request;
      const bytes = body === bodyTooLarge ? null : ((body as Buffer | undefined) ?? new Uint8Array());
      void gateway.inbound
        .handle({
          ...{ method, url: withoutBase(url, options), rawHeaders: raw.rawHeaders, body: bytes },
          clientCertificate: certificateOf(request.socket.remoteAddress, raw.rawHeaders),
        })
        .then((answer) => {
          reply.hijack();
          const text = typeof answer.body === "string" ? Buffer.from(answer.body) : answer.body;
          reply.raw.writeHead(answer.status, { ...answer.headers, "content-length": text.byteLength });
          reply.raw.end(method === "HEAD" ? undefined : text);
        });
    };
    for (const url of ["/in/*", "/_webhooks/*"])
      child.route({
        method: [...methods],
        url,
        bodyLimit: bytesMax + 1,
        config: { takesEncodings: true },
        handler,
      });
    done();
  });
}

function withoutBase(url: string, { basePath = "" }: ApiOptions): string {
  return basePath !== "" && url.startsWith(`${basePath}/`) ? url.slice(basePath.length) : url;
}
