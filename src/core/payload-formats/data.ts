import { type EventContent, noContentHeaders, type RenderedContent } from "./content.ts";
import { dataBytes } from "./standard.ts";

/** Profile `event-delivery`: the published data without an envelope, byte for byte (EDS-2-1, EDS-9.1-4). */
export function renderData(content: EventContent): RenderedContent {
  const body = content.raw ? content.body : dataBytes(content);
  return { contentType: content.contentType, body, headers: noContentHeaders };
}
