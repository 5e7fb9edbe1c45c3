import { errorOf } from "../../domain/thrown.ts";
import type { Directory } from "../endpoint/directory.ts";
import type { Ownership } from "../endpoint/ownership.ts";
import { publishError } from "../publish/draft.ts";
import type { Publisher } from "../publish/publish.ts";
import type { PublishReceipt, RelayedEvent } from "../publish/publish-call.ts";
import type { Forwarded, Forwarder, ForwardRequest, Judged } from "./forwarder.ts";

/** The engine's interface for the gateway. Webhooks of other tenants are invisible. */
export class RelayedMessages {
  readonly #directory: Pick<Directory, "get">;
  readonly #refresh: Ownership["refresh"];
  readonly #publisher: Pick<Publisher, "publishRelayed">;
  readonly #forwarder: Pick<Forwarder, "forward">;
  /** Webhooks that are being loaded, by ID. */
  readonly #reading = new Map<string, Promise<void>>();

  constructor(
    directory: Pick<Directory, "get">,
    refresh: Ownership["refresh"],
    publisher: Pick<Publisher, "publishRelayed">,
    forwarder: Pick<Forwarder, "forward">,
  ) {
    this.#directory = directory;
    this.#refresh = refresh;
    this.#publisher = publisher;
    this.#forwarder = forwarder;
  }

  /**
   * Commits a verified event with its deliveries and its key. Rejects like publishing, and also if an unknown webhook
   * cannot be loaded: an accepted event must reach every existing webhook.
   */
  async publish(event: RelayedEvent): Promise<PublishReceipt> {
    await this.known(event.targets.map(({ webhookId }) => webhookId));
    return this.#publisher.publishRelayed(event, () =>
      event.targets.flatMap(({ webhookId }) => {
        const found = this.#directory.get(webhookId);
        return found?.webhook.tenantId === event.tenantId ? [found] : [];
      }),
    );
  }

  /** Forwards a message immediately, for a waiting sender. Rejects if the webhook is unknown and cannot be loaded. */
  async forward<Judgement extends Judged>(request: ForwardRequest<Judgement>): Promise<Forwarded<Judgement>> {
    await this.known([request.webhookId]);
    const endpoint = this.#directory.get(request.webhookId);
    if (endpoint === undefined || endpoint.webhook.tenantId !== request.tenantId)
      return { kind: "closed", why: "webhook_deleted", waitMs: null };
    return this.#forwarder.forward(endpoint, request);
  }

  /**
   * Loads unknown webhooks, because a process may load a connection before its webhook, which another process created.
   * Afterwards each webhook is either loaded or known to be deleted. Rejects if the webhooks cannot be loaded.
   */
  async known(webhookIds: readonly string[]): Promise<void> {
    const unknown = webhookIds.filter((id) => this.#directory.get(id) === undefined);
    if (unknown.length === 0) return;
    try {
      await Promise.all(unknown.map((id) => this.#read(id)));
    } catch (error) {
      throw publishError(errorOf(error));
    }
  }

  /** Loads a webhook once for all concurrent messages. A connection to it exists, so it is already in the store. */
  #read(id: string): Promise<void> {
    let reading = this.#reading.get(id);
    if (reading === undefined) {
      reading = this.#refresh([id]).finally(() => this.#reading.delete(id));
      this.#reading.set(id, reading);
    }
    return reading;
  }
}
