import type { Receiver } from "../receiver.ts";
import { exchange, type NodeRequest, type NodeResponse, writeAnswer } from "./node-exchange.ts";

/**
 * A listener for `node:http` and `node:https`.
 *
 * ```ts
 * createServer(nodeHttpListener(receiver)).listen(3000);
 * ```
 */
export function nodeHttpListener(
  receiver: Receiver,
): (request: NodeRequest, response: NodeResponse & { destroy(): unknown }) => void {
  return (request, response) => {
    exchange(receiver, { request, url: request.url ?? "/" }).then(
      (answer) => writeAnswer(response, answer),
      // The sender went away in the middle; it will come back.
      () => response.destroy(),
    );
  };
}
