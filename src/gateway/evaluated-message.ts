/** What filters see of messages that are tried, and what of those in the log they cannot see. */
import type { FilterEvaluationInput } from "../core/fields/filter-evaluation.ts";
import type { FilteredMessage, PartlyKnownMessage } from "../core/filter/filter.ts";
import { masked, notKept, type Unknown } from "../core/filter/unknown.ts";
import { mask } from "../core/http/masked-fields.ts";
import type { ReceivedRequest } from "../ports/store/gateway.ts";
import { receivedHeaders } from "../receiver/message/received-headers.ts";
import { readJsonBody } from "../receiver/presets/value-source.ts";
import { utf8 } from "../receiver/providers/bytes.ts";
import { restOfShown } from "./address.ts";
import { filteredHead } from "./incoming.ts";

/** A text is a body as it comes; other JSON is a body that was read already. */
export function givenMessage({
  headers = {},
  query = {},
  path = "",
  body,
}: NonNullable<FilterEvaluationInput["message"]>): FilteredMessage {
  return {
    headers: Object.fromEntries(receivedHeaders(Object.entries(headers))),
    ...{ query, path },
    // Written and read again: the same spelling of numbers as in a message that comes.
    body:
      body === undefined
        ? undefined
        : readJsonBody(utf8(typeof body === "string" ? body : JSON.stringify(body))),
  };
}

/**
 * From the line of the log, and never from the sealed headers: whoever may read the log could otherwise find out a secret
 * character by character, with `$startsWith`.
 */
export function loggedMessage(
  { headers, path }: Pick<ReceivedRequest, "headers" | "path">,
  kept: {
    readonly body: Uint8Array | typeof notKept;
    /** Parameters that the log leaves out; null where they are not known. */
    readonly secretParameters: readonly string[] | null;
  },
): PartlyKnownMessage {
  const fields = headers.flatMap((name, at) =>
    at % 2 === 0 ? [[name, headers[at + 1] ?? ""] as const] : [],
  );
  const head = filteredHead({ headers: fields, url: path, rest: restOfShown(path) });
  const { body, secretParameters } = kept;
  const leftOut = (secretParameters ?? []).map((name) => [name, notKept] as const);
  return {
    headers: withoutMasks(head.headers),
    query:
      secretParameters === null ? notKept : { ...withoutMasks(head.query), ...Object.fromEntries(leftOut) },
    path: knownText(head.path),
    body: body === notKept ? notKept : readJsonBody(body),
  };
}

function withoutMasks(texts: Readonly<Record<string, string>>): Readonly<Record<string, string | Unknown>> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, knownText(text)]));
}

/** A mask may stand for a part of it. */
function knownText(text: string): string | Unknown {
  return text.includes(mask) ? masked : text;
}
