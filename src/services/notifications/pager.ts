import type { MailResult } from "../../ports/mailer.ts";
import type { OutboundRequest, Transport } from "../../ports/transport.ts";

export interface PagerOptions {
  /** Enforces the egress rules. */
  readonly transport: Pick<Transport, "send">;
  readonly userAgent: string;
}

/** Endpoint of the Events API, version 2. */
export const pagerUrl = new URL("https://events.pagerduty.com/v2/enqueue");
const timeoutMs = 10_000;

/**
 * Sends to the incident service directly rather than as an event: the integration key is part of each body, and would
 * otherwise be stored with every message. The notification queue retries, as for email.
 */
export class Pager {
  readonly #options: PagerOptions;

  constructor(options: PagerOptions) {
    this.#options = options;
  }

  /**
   * `failed`: the message will never be accepted, so a retry does not help. `unreachable`: retry later. Never rejects.
   */
  async page(body: object): Promise<MailResult> {
    const { observation, errorMessage } = await this.#options.transport.send(this.#request(body));
    if (observation.kind === "failure")
      return { kind: "unreachable", error: `PagerDuty: ${errorMessage ?? observation.category}` };
    const { status } = observation;
    if (status >= 200 && status <= 299) return { kind: "sent" };
    const isFinal = status >= 400 && status <= 499 && status !== 408 && status !== 429;
    return { kind: isFinal ? "failed" : "unreachable", error: `PagerDuty responded with ${status}` };
  }

  #request(body: object): OutboundRequest {
    return {
      method: "POST",
      origin: pagerUrl.origin,
      path: pagerUrl.pathname,
      headers: ["Content-Type", "application/json", "User-Agent", this.#options.userAgent],
      body: Buffer.from(JSON.stringify(body)),
      timeoutMs,
      http2: false,
      clientCertificate: null,
    };
  }
}
