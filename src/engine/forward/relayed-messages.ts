import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Publisher } from "../publish/publish.ts";
import type { PublishReceipt, RelayedEvent } from "../publish/publish-call.ts";
import type { Forwarded, Forwarder, ForwardRequest, Judged } from "./forwarder.ts";

export interface RelayedMessagesOptions {
  readonly endpoint: (id: string) => Endpoint | undefined;
  readonly publisher: Pick<Publisher, "publishRelayed">;
  readonly forwarder: Pick<Forwarder, "forward">;
}

/** What the gateway may ask of the engine. Webhooks of other tenants do not exist. */
export class RelayedMessages {
  readonly #options: RelayedMessagesOptions;

  constructor(options: RelayedMessagesOptions) {
    this.#options = options;
  }

  /** What was verified, committed with its deliveries and its key; answered after the commit. */
  publish(event: RelayedEvent): Promise<PublishReceipt> {
    const { publisher, endpoint } = this.#options;
    return publisher.publishRelayed(event, () =>
      event.targets.flatMap(({ webhookId }) => {
        const found = endpoint(webhookId);
        return found?.webhook.tenantId === event.tenantId ? [found] : [];
      }),
    );
  }

  /** One attempt at once, for a sender that waits. */
  async forward<Judgement extends Judged>(request: ForwardRequest<Judgement>): Promise<Forwarded<Judgement>> {
    const endpoint = this.#options.endpoint(request.webhookId);
    if (endpoint === undefined || endpoint.webhook.tenantId !== request.tenantId)
      return { kind: "closed", why: "webhook_deleted", waitMs: null };
    return this.#options.forwarder.forward(endpoint, request);
  }
}
