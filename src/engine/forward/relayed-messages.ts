import { errorOf } from "../../core/thrown.ts";
import type { Directory } from "../endpoint/directory.ts";
import type { Ownership } from "../endpoint/ownership.ts";
import { publishError } from "../publish/publish-answers.ts";
import type { Publisher } from "../publish/publish.ts";
import type { PublishReceipt, RelayedEvent } from "../publish/publish-call.ts";
import type { Forwarded, Forwarder, ForwardRequest, Judged } from "./forwarder.ts";

export interface RelayedMessagesOptions {
  readonly directory: Pick<Directory, "get">;
  readonly refresh: Ownership["refresh"];
  readonly publisher: Pick<Publisher, "publishRelayed">;
  readonly forwarder: Pick<Forwarder, "forward">;
}

/** What the gateway may ask of the engine. Webhooks of other tenants do not exist. */
export class RelayedMessages {
  readonly #options: RelayedMessagesOptions;
  /** Webhooks that are being read, by id. */
  readonly #reading = new Map<string, Promise<void>>();

  constructor(options: RelayedMessagesOptions) {
    this.#options = options;
  }

  /**
   * What was verified, committed with its deliveries and its key; answered after the commit. Rejects as publishing does,
   * also while a webhook that nothing is known of cannot be read: what is accepted reaches every webhook there is.
   */
  async publish(event: RelayedEvent): Promise<PublishReceipt> {
    const { publisher, directory } = this.#options;
    await this.known(event.targets.map(({ webhookId }) => webhookId));
    return publisher.publishRelayed(event, () =>
      event.targets.flatMap(({ webhookId }) => {
        const found = directory.get(webhookId);
        return found?.webhook.tenantId === event.tenantId ? [found] : [];
      }),
    );
  }

  /** One attempt at once, for a sender that waits. Rejects while the webhook is not known and cannot be read. */
  async forward<Judgement extends Judged>(request: ForwardRequest<Judgement>): Promise<Forwarded<Judgement>> {
    await this.known([request.webhookId]);
    const endpoint = this.#options.directory.get(request.webhookId);
    if (endpoint === undefined || endpoint.webhook.tenantId !== request.tenantId)
      return { kind: "closed", why: "webhook_deleted", waitMs: null };
    return this.#options.forwarder.forward(endpoint, request);
  }

  /**
   * A process may hear of a connection before it hears of the webhook that another process made for it. What is not known
   * is read, so that afterwards it is known, or it was deleted. Rejects while it cannot be read.
   */
  async known(webhookIds: readonly string[]): Promise<void> {
    const unknown = webhookIds.filter((id) => this.#options.directory.get(id) === undefined);
    if (unknown.length === 0) return;
    try {
      await Promise.all(unknown.map((id) => this.#read(id)));
    } catch (error) {
      throw publishError(errorOf(error));
    }
  }

  /** Once for all messages that come meanwhile: whoever asks knows a connection to it, so it is in the store by then. */
  #read(id: string): Promise<void> {
    let reading = this.#reading.get(id);
    if (reading === undefined) {
      reading = this.#options.refresh([id]).finally(() => this.#reading.delete(id));
      this.#reading.set(id, reading);
    }
    return reading;
  }
}
