import type { EventContent } from "../../core/payload-formats/content.ts";
import { renderPayload } from "../../core/payload-formats/index.ts";
import type { ProfileHeader } from "../../core/profile.ts";
import type { TracePolicy } from "../../core/webhook.ts";
import type { ClaimedDelivery } from "../../ports/store/deliveries.ts";
import { compileHeaders } from "./header-writers.ts";
import type { MessageContext, MessageDraft } from "./header-writers.ts";
import { addRelayed } from "./relayed-headers.ts";
import { traceHeaders } from "./trace-headers.ts";

/** Headers and body of one attempt, ready for the transport. */
export interface ComposedMessage {
  /** Flat name-value list. */
  readonly headers: string[];
  readonly body: Uint8Array;
}

/** Composes one attempt of a delivery at a time (Unix milliseconds). */
export type MessageComposer = (delivery: ComposedDelivery, now: number) => ComposedMessage;

/** The delivery data that a message is made of: stored data only. */
export type ComposedDelivery = Omit<
  ClaimedDelivery,
  "lease" | "webhookTenantId" | "priority" | "progress"
> & { readonly progress: Pick<ClaimedDelivery["progress"], "attemptCount"> };

/**
 * Prepares the messages of a webhook. ID, key, content type and body are the same in every attempt of the event;
 * timestamp and signatures are fresh (TS16-34, TS16-69, EDS-9.4-3). `fixedHeaders` are appended: credentials and
 * custom headers.
 */
export function prepareComposer(
  headers: readonly ProfileHeader[],
  webhook: MessageContext & { readonly fixedHeaders: readonly string[]; readonly traces: TracePolicy },
): MessageComposer {
  const writers = compileHeaders(headers, webhook);
  const { fixedHeaders, traces } = webhook;
  const invents = traces === "always";
  return (delivery, now) => {
    const content = renderPayload(delivery.format, contentOf(delivery));
    const draft: MessageDraft = { delivery, content, now, headers: [], httpSignature: null };
    for (const write of writers) write(draft);
    if (delivery.relayed !== null) addRelayed(draft.headers, delivery.relayed.headers);
    if (delivery.trace !== null || invents) draft.headers.push(...traceHeaders(delivery, traces));
    draft.headers.push(...fixedHeaders);
    return { headers: draft.headers, body: content.body };
  };
}

function contentOf(delivery: ComposedDelivery): EventContent {
  if (delivery.body === null) throw new Error(`delivery ${delivery.id} has no body any more`);
  return delivery as ComposedDelivery & EventContent;
}
