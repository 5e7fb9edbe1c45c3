/** Refuses invalid request heads before any lookup, with a problem document where Node would send no body. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { InvalidRequestError } from "../core/errors.ts";

/** Requires exactly one Host header (RFC 9112, section 3.2): a proxy might have used another one. */
export function refuseHosts(request: FastifyRequest, _: FastifyReply, done: (error?: Error) => void): void {
  const { rawHeaders, httpVersion } = request.raw;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === hostLength && name.toLowerCase() === "host") hosts += 1;
  }
  if (hosts === 1 || (hosts === 0 && httpVersion === "1.0")) done();
  else
    done(
      new InvalidRequestError("A request must have exactly one Host header.", [
        { field: "Host", message: "must be present exactly once" },
      ]),
    );
}

const hostLength = "host".length;

/** Refuses `Expect` values other than `100-continue`. */
export function refuseExpectation(basePath: string) {
  const body = JSON.stringify({
    type: `${basePath}/docs/errors#invalid_request`,
    title: "Expectation Failed",
    status: 417,
    detail: "Only the expectation 100-continue is supported.",
    code: "invalid_request",
  });
  return (request: IncomingMessage, response: ServerResponse): void => {
    request.resume();
    response.writeHead(417, {
      "content-type": "application/problem+json",
      "x-content-type-options": "nosniff",
      "content-length": Buffer.byteLength(body),
      connection: "close",
    });
    response.end(body);
  };
}
