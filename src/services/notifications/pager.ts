import type { MailResult } from "../../ports/mailer.ts";
import type { OutboundRequest, Transport } from "../../ports/transport.ts";

export interface PagerOptions {
  /** Past whose egress guard nothing leaves. */
  readonly transport: Pick<Transport, "send">;
  readonly userAgent: string;
}

/** Where events of the Events API, version 2, go. */
export const pagerUrl = new URL("https://events.pagerduty.com/v2/enqueue");
const timeoutMs = 10_000;

/**
 * Tells the incident service at once, not as an event of the delivery path: its key is a member of each body, and would stand in every
 * stored message that way. Retries are the matter of the queue of notifications, as for mail.
 */
export class Pager {
  readonly #options: PagerOptions;

  constructor(options: PagerOptions) {
    this.#options = options;
  }

  /** `failed`: this message will never be taken, so that no retry helps. `unreachable`: not now. Never rejects. */
  async page(body: object): Promise<MailResult> {
    const { observation, errorMessage } = await this.#options.transport.send(this.#request(body));
    if (observation.kind === "failure")
      return { kind: "unreachable", error: `PagerDuty: ${errorMessage ?? observation.category}` };
    const { status } = observation;
    if (status >= 200 && status <= 299) return { kind: "sent" };
    const isFinal = status >= 400 && status <= 499 && status !== 408 && status !== 429;
    return { kind: isFinal ? "failed" : "unreachable", error: `PagerDuty answered ${status}` };
  }

  #request(body: object): OutboundRequest {
    return {
      ...{ method: "POST", origin: pagerUrl.origin, path: pagerUrl.pathname },
      headers: ["Content-Type", "application/json", "User-Agent", this.#options.userAgent],
      body: Buffer.from(JSON.stringify(body)),
      ...{ timeoutMs, http2: false, clientCertificate: null },
    };
  }
}
