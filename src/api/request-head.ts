/** What of a request's head is refused before anything is looked up, with a problem where Node would answer without a body. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { InvalidRequestError } from "../core/errors.ts";

/** One Host field, as RFC 9112, 3.2 asks: of two, a proxy in front could have looked at the other one. */
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
      new InvalidRequestError("A request has exactly one Host field.", [
        { field: "Host", message: "must be there once" },
      ]),
    );
}

const hostLength = "host".length;

/** Refuses `Expect` with anything but `100-continue`. */
export function refuseExpectation(basePath: string) {
  const body = JSON.stringify({
    type: `${basePath}/docs/errors#invalid_request`,
    title: "Expectation Failed",
    status: 417,
    detail: "Of all expectations only 100-continue is met.",
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
