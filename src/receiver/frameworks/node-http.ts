import type { Receiver } from "../receiver.ts";
import { alreadyParsed } from "../receiver-error.ts";
import { exchange, type NodeRequest, type NodeResponse, writeAnswer } from "./node-exchange.ts";

/**
 * A listener for `node:http` and `node:https`.
 *
 * ```ts
 * createServer(nodeHttpListener(receiver)).listen(3000);
 * ```
 *
 * A request whose body was already read is answered with 500 `body-already-parsed`.
 */
export function nodeHttpListener(
  receiver: Receiver,
): (request: NodeRequest, response: NodeResponse & { destroy(): unknown }) => void {
  return (request, response) => {
    if (request.readableDidRead === true) {
      // Respond instead of throwing: no code would catch the error, and an attacker can cause it by choosing a type
      // that a parser accepts.
      writeAnswer(response, receiver.refuse(alreadyParsed("The application", remedy)));
      return;
    }
    exchange(receiver, { request, url: request.url ?? "/" }).then(
      (answer) => writeAnswer(response, answer),
      // The sender disconnected while sending; it will retry.
      () => response.destroy(),
    );
  };
}

const remedy = "Pass the request to the receiver before anything reads it; in Express, use expressHandler.";
