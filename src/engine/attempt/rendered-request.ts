import type { AttemptRecord, RequestDifference } from "../../domain/delivery.ts";
import { PosthornError } from "../../domain/errors.ts";
import { mask, maskedField, maskedParameters } from "../../domain/http/masked-fields.ts";
import { withRelayedPath } from "../../features/gateway/relayed.ts";
import type { StoredDelivery, StoredEvent } from "../../ports/store/history.ts";
import { maskSecrets } from "../credentials/secret-mask.ts";
import type { EndpointConfig } from "../endpoint/endpoint-config.ts";

/** A request rebuilt from stored data. It contains no credentials. */
export interface RenderedRequest {
  readonly method: "POST";
  readonly url: string;
  /** Flat name-value list, in order. Headers of the connection (Host, Content-Length) are not included. */
  readonly headers: readonly string[];
  readonly body: Uint8Array;
  /** Parts that may differ from the request as sent; empty if there are none. */
  readonly differences: readonly RequestDifference[];
}

export interface RenderedFrom {
  readonly config: EndpointConfig;
  readonly delivery: StoredDelivery;
  readonly event: StoredEvent & { readonly body: Uint8Array };
  readonly attempt: AttemptRecord;
}

/** The body and the times come from the event and the attempt; the rest comes from the current webhook. */
export function renderRequest(from: RenderedFrom): RenderedRequest {
  const { config, delivery, event, attempt } = from;
  if (!config.canSign) throw new PosthornError("conflict", noKey);
  const { headers, body } = config.compose(
    {
      ...event,
      id: delivery.id,
      webhookId: delivery.webhookId,
      eventId: event.id,
      format: delivery.format,
      eventPriority: event.priority,
      progress: { attemptCount: attempt.number - 1 },
    },
    attempt.executedAt,
  );
  if (config.oauth2 !== null) headers.push("Authorization", mask);
  return {
    method: "POST",
    url: urlOf(from),
    body,
    headers: headers.map((text, at) => (at % 2 === 0 ? text : shown(config, headers[at - 1] ?? "", text))),
    differences: differencesOf(from),
  };
}

const noKey = "the webhook has no signing key, so its requests cannot be rebuilt; replace its secret first";

/** The URL as requested, if it was recorded completely. */
function urlOf({ config, attempt, event }: RenderedFrom): string {
  const trace = attempt.notes?.trace;
  const isOther = trace !== undefined && trace.configRevision !== config.webhook.revision;
  if (isOther && !trace.truncated) return trace.url;
  return maskedParameters(
    withoutSecrets(config, withRelayedPath(config.origin + config.path, event.relayed)),
  );
}

function shown(config: EndpointConfig, name: string, value: string): string {
  if (config.credentialHeaders.includes(name.toLowerCase())) return mask;
  return withoutSecrets(config, maskedField(name, value));
}

function withoutSecrets({ shownSecrets: secrets }: EndpointConfig, text: string): string {
  return maskSecrets(text, { secrets, wasCut: false });
}

function differencesOf({ config, attempt }: RenderedFrom): readonly RequestDifference[] {
  const { webhook, secrets, oauth2 } = config;
  const revision = attempt.notes?.trace?.configRevision ?? null;
  const differences: RequestDifference[] = [];
  const changed = revision !== null && revision !== webhook.revision;
  if (changed) differences.push({ parts: ["url", "headers"], why: "configuration_changed" });
  if (revision === null && webhook.updatedAt >= attempt.executedAt)
    differences.push({ parts: ["url", "headers"], why: "configuration_may_have_changed" });
  if (secrets.some(({ createdAt }) => createdAt > attempt.executedAt))
    differences.push({ parts: ["signature"], why: "secret_rotated" });
  if (oauth2 !== null) differences.push({ parts: ["headers", "signature"], why: "access_token" });
  return differences;
}
