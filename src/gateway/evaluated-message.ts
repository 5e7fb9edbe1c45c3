/** What filters see of messages under evaluation, and which parts of logged messages are unknown to them. */
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

/** A string is a raw body; any other JSON is a parsed body. */
export function givenMessage({
  headers = {},
  query = {},
  path = "",
  body,
}: NonNullable<FilterEvaluationInput["message"]>): FilteredMessage {
  return {
    headers: Object.fromEntries(receivedHeaders(Object.entries(headers))),
    query,
    path,
    // Serialized and parsed again, so that numbers are spelled as in a received message.
    body:
      body === undefined
        ? undefined
        : readJsonBody(utf8(typeof body === "string" ? body : JSON.stringify(body))),
  };
}

/**
 * Built from the log row, never from the sealed headers: otherwise anyone who may read the log could find out a
 * secret character by character, with `$startsWith`.
 */
export function loggedMessage(
  { headers, path }: Pick<ReceivedRequest, "headers" | "path">,
  body: Uint8Array | typeof notKept,
  /** Query parameters that the log omits; null if they are unknown. */ secretParameters:
    | readonly string[]
    | null,
): PartlyKnownMessage {
  const fields = headers.flatMap((name, at) =>
    at % 2 === 0 ? [[name, headers[at + 1] ?? ""] as const] : [],
  );
  const head = filteredHead(fields, path, restOfShown(path));
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

/** A mask may replace a part of the text. */
function knownText(text: string): string | Unknown {
  return text.includes(mask) ? masked : text;
}
