import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SeededRandom } from "../../simulation/seeded-random.ts";

/** One request as received. */
export interface Arrival {
  readonly eventId: string;
  readonly atMs: number;
  readonly accepted: boolean;
}

export interface ReceiverOptions {
  readonly seed: string;
  /** The fraction `share` of requests to these webhooks gets a 503. */
  readonly flaky: { readonly webhooks: readonly string[]; readonly share: number };
  readonly answerDelayMs: number;
}

/** Requests of a webhook whose responses are withheld. */
interface Hold {
  readonly webhook: string;
  readonly began: () => void;
  readonly answers: (() => void)[];
}

/** Receives requests for all webhooks of a deployment, and records them per webhook in order of arrival. */
export class OutageReceiver {
  readonly #options: ReceiverOptions;
  readonly #random: SeededRandom;
  readonly #server: Server;
  /** Requests by webhook name, which is part of the URL. */
  readonly arrivals = new Map<string, Arrival[]>();
  /** How many times each event was accepted. */
  readonly accepted = new Map<string, number>();
  /** Events whose type does not belong to the receiving webhook. */
  readonly misdirected: string[] = [];
  port = 0;
  #hold: Hold | null = null;

  private constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#server = createServer((request, response) => this.#receive(request, response));
    this.#server.keepAliveTimeout = 60_000;
  }

  static async start(options: ReceiverOptions): Promise<OutageReceiver> {
    const receiver = new OutageReceiver(options);
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", 4096, resolve));
    receiver.port = (receiver.#server.address() as AddressInfo).port;
    return receiver;
  }

  url(webhook: string): string {
    return `http://127.0.0.1:${this.port}/${webhook}`;
  }

  /**
   * Withholds the responses to a webhook's requests from now on. Resolves when a request is waiting for its response.
   */
  hold(webhook: string): Promise<void> {
    return new Promise((began) => {
      this.#hold = { webhook, began, answers: [] };
    });
  }

  /** Sends the withheld responses. Returns their number. */
  release(): number {
    const answers = this.#hold?.answers ?? [];
    this.#hold = null;
    for (const answer of answers) answer();
    return answers.length;
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const body: Buffer[] = [];
    request.on("data", (chunk: Buffer) => body.push(chunk));
    request.once("end", () => {
      const webhook = (request.url ?? "/").slice(1);
      const eventId = String(request.headers["webhook-id"]);
      const type = typeOf(Buffer.concat(body).toString());
      if (!type.startsWith(`${webhook}.`)) this.misdirected.push(`${eventId} of type ${type} at ${webhook}`);
      const { flaky, answerDelayMs } = this.#options;
      const refused = flaky.webhooks.includes(webhook) && this.#random.chance(flaky.share);
      const arrivals = this.arrivals.get(webhook) ?? [];
      this.arrivals.set(webhook, arrivals);
      arrivals.push({ eventId, atMs: performance.now(), accepted: !refused });
      if (!refused) this.accepted.set(eventId, (this.accepted.get(eventId) ?? 0) + 1);
      const answer = () => {
        response.statusCode = refused ? 503 : 200;
        response.end();
      };
      const hold = this.#hold;
      if (hold?.webhook !== webhook) setTimeout(answer, answerDelayMs);
      else if (hold.answers.push(answer) === 1) hold.began();
    });
  }
}

/** The value of `type`, the first member of the body. */
function typeOf(body: string): string {
  return /"type":"([^"]*)"/.exec(body)?.[1] ?? "none";
}
