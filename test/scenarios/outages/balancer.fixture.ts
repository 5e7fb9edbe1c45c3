import { once } from "node:events";
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

const askAgainMs = 50;
const answerMsMax = 2_000;
/** Must be shorter than the time for which a draining target still responds: 3 s with a grace period of 30 s. */
const idleMsMax = 1_000;

/**
 * A small load balancer. It sends each request to the next target whose `/readyz` recently returned 200, over kept
 * connections. If a connection is refused, nothing was sent, so it uses a different target. All other failures result
 * in a 502, because a request must not be sent twice.
 */
export class Balancer {
  readonly #targets: () => readonly string[];
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: true, timeout: idleMsMax });
  readonly #ready = new Set<string>();
  #turn = 0;
  #isClosed = false;
  url = "";

  private constructor(targets: () => readonly string[]) {
    this.#targets = targets;
    this.#server = createServer((message, response) => void this.#pass(message, response));
  }

  /** Returns the base URLs of the targets. Called again for each request. */
  static async open(targets: () => readonly string[]): Promise<Balancer> {
    const balancer = new Balancer(targets);
    balancer.#server.listen(0, "127.0.0.1");
    await once(balancer.#server, "listening");
    const { port } = balancer.#server.address() as AddressInfo;
    balancer.url = `http://127.0.0.1:${port}`;
    await balancer.#look();
    void balancer.#lookAgain();
    return balancer;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }

  async #lookAgain(): Promise<void> {
    while (!this.#isClosed) {
      await new Promise((resolve) => setTimeout(resolve, askAgainMs));
      await this.#look();
    }
  }

  async #look(): Promise<void> {
    const targets = this.#targets();
    const answers = await Promise.all(targets.map(async (url) => [url, await readiness(url)] as const));
    for (const url of this.#ready) if (!targets.includes(url)) this.#ready.delete(url);
    for (const [url, answer] of answers) {
      if (answer === "ready") this.#ready.add(url);
      if (answer === "not ready") this.#ready.delete(url);
    }
  }

  async #pass(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bytesOf(message);
    const ready = [...this.#ready];
    const first = this.#turn++ % Math.max(1, ready.length);
    for (const target of [...ready.slice(first), ...ready.slice(0, first)]) {
      try {
        const answer = await this.#ask(target, { message, body });
        const answerBody = await bytesOf(answer);
        const { "content-type": type = "text/plain" } = answer.headers;
        response.writeHead(answer.statusCode ?? 502, { "content-type": type }).end(answerBody);
        return;
      } catch (error) {
        if (isRefused(error)) continue;
        response.writeHead(502).end(`${target}: ${String(error)}`);
        return;
      }
    }
    response.writeHead(502).end("no target");
  }

  async #ask(
    target: string,
    { message, body }: { readonly message: IncomingMessage; readonly body: Buffer },
  ): Promise<IncomingMessage> {
    const { authorization = "", "content-type": type = "" } = message.headers;
    const asking = request(target + (message.url ?? "/"), {
      agent: this.#agent,
      method: message.method ?? "GET",
      headers: { authorization, "content-type": type, "content-length": body.length },
    });
    asking.end(body);
    const [answer] = (await once(asking, "response")) as [IncomingMessage];
    return answer;
  }
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function isRefused(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ECONNREFUSED";
}

/** A target that responds too slowly keeps its previous state. */
async function readiness(url: string): Promise<"ready" | "not ready" | "unknown"> {
  const options = { headers: { connection: "close" }, signal: AbortSignal.timeout(answerMsMax) };
  try {
    return (await fetch(`${url}/readyz`, options)).status === 200 ? "ready" : "not ready";
  } catch (error) {
    return isRefused(error instanceof Error ? error.cause : error) ? "not ready" : "unknown";
  }
}
