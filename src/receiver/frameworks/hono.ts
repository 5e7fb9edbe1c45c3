import type { Receiver } from "../receiver.ts";
import { alreadyParsed } from "../receiver-error.ts";
import { exchangeFetch, isFetchRequest, notFetch, toResponse } from "./fetch.ts";

/**
 * A handler for Hono 4. Use `all`, so that OPTIONS and wrong methods are answered as well.
 *
 * ```ts
 * app.all("/webhooks/posthorn", honoHandler(receiver));
 * ```
 *
 * Fails with a ReceiverError `body_already_parsed` after middleware that reads the body.
 */
export function honoHandler(
  receiver: Receiver,
): (context: { readonly req: { readonly raw: Request } }) => Promise<Response> {
  const remedy =
    'Put the receiver before the middleware that reads it:\n\n  app.all("/webhooks/posthorn", honoHandler(receiver));\n  app.use(middlewareThatReadsTheBody);\n';
  return async (context) => {
    const { raw } = (context as Partial<typeof context>).req ?? {};
    if (raw === undefined || !isFetchRequest(raw)) throw notFetch("honoHandler");
    if (raw.bodyUsed) throw alreadyParsed("Hono", remedy);
    return toResponse(await exchangeFetch(receiver, raw));
  };
}
