import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { connect, type Channel } from "amqplib";
import { openRabbitMqQueue, type RabbitMqQueueOptions } from "../../../src/queue/rabbitmq/open.ts";
import type { RabbitMqQueue } from "../../../src/queue/rabbitmq/queue.ts";
import { systemClock } from "../../../src/system/clock.ts";
import { createSystemRandom } from "../../../src/system/random.ts";
import type { LogFields, Logger } from "../../../src/ports/telemetry.ts";
import { CuttingProxy } from "../../services/cutting-proxy.fixture.ts";

const rabbitmqctlMsMax = 30_000;
const server = process.env["POSTHORN_TEST_QUEUE_URL"] ?? "amqp://guest:guest@127.0.0.1:5672";

/** Runs an administration command. Rejects if the program is missing or may not be used. */
export async function rabbitmqctl(...words: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("rabbitmqctl", ["-q", ...words], {
    timeout: rabbitmqctlMsMax,
  });
  return stdout;
}

/**
 * A separate virtual host for one test file, if this process may create one. Falls back to the given virtual host,
 * where prefixes separate the tests.
 */
export interface TestVirtualHost {
  readonly url: string;
  readonly name: string;
  /** Whether only this test file uses the virtual host. */
  readonly isOwn: boolean;
  drop(): Promise<void>;
}

export async function createTestVirtualHost(): Promise<TestVirtualHost> {
  const name = `posthorn-test-${randomBytes(6).toString("hex")}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  const user = url.username === "" ? "guest" : decodeURIComponent(url.username);
  try {
    await rabbitmqctl("add_vhost", name);
    await rabbitmqctl("set_permissions", "-p", name, user, ".*", ".*", ".*");
    // Verifies the new virtual host, because the command may have reached a different broker.
    await (await connect(url.href)).close();
    const drop = async (): Promise<void> => void (await rabbitmqctl("delete_vhost", name));
    return { url: url.href, name, isOwn: true, drop };
  } catch {
    const given = decodeURIComponent(new URL(server).pathname.slice(1));
    return { url: server, name: given === "" ? "/" : given, isOwn: false, drop: () => Promise.resolve() };
  }
}

interface Operator {
  readonly channel: Channel;
  readonly close: () => Promise<void>;
}

async function openOperator(url: string): Promise<Operator> {
  const connection = await connect(url);
  for (const event of ["error", "close"]) connection.on(event, () => undefined);
  return { channel: await connection.createChannel(), close: () => connection.close() };
}

/** One process that uses the broker, behind its own network proxy. */
export interface Joined {
  readonly queue: RabbitMqQueue;
  readonly network: CuttingProxy;
}

/** Queues under one prefix, and functions to inspect and disrupt them. */
export class RabbitMqBroker {
  readonly prefix = `test-${randomBytes(4).toString("hex")}`;
  readonly log = new RecordedLog();
  readonly #url: string;
  readonly #joined: Joined[] = [];
  #operator: Operator;

  private constructor(url: string, operator: Operator) {
    this.#url = url;
    this.#operator = operator;
  }

  static async open({ url }: TestVirtualHost): Promise<RabbitMqBroker> {
    return new RabbitMqBroker(url, await openOperator(url));
  }

  /** For all administrative operations. An error closes the channel. */
  get operator(): Channel {
    return this.#operator.channel;
  }

  /** Resolves after the connection has been closed. */
  async reopenOperator(): Promise<void> {
    this.#operator = await openOperator(this.#url);
  }

  async join(more: Partial<RabbitMqQueueOptions> = {}): Promise<Joined> {
    const network = await CuttingProxy.to(Number(new URL(this.#url).port || "5672"));
    try {
      const queue = await openRabbitMqQueue({
        url: network.addressOf(this.#url),
        prefix: this.prefix,
        clock: systemClock,
        random: createSystemRandom(),
        telemetry: { log: this.log },
        ...more,
      });
      this.#joined.push({ queue, network });
      return { queue, network };
    } catch (error) {
      await network.close();
      throw error;
    }
  }

  networkOf(queue: unknown): CuttingProxy {
    const found = this.#joined.find((each) => each.queue === queue);
    if (found === undefined) throw new Error("that queue is not at this broker");
    return found.network;
  }

  workQueue(pool: string, priority = "normal"): string {
    return `${this.prefix}.work.${pool}.${priority}`;
  }

  get parkedQueue(): string {
    return `${this.prefix}.parked`;
  }

  /** Deletes the queues of these pools and the queue of parked hints, with their contents. */
  async deleteQueues(pools: readonly string[]): Promise<void> {
    const work = pools.flatMap((pool) =>
      ["high", "normal", "low"].map((priority) => this.workQueue(pool, priority)),
    );
    for (const queue of [...work, this.parkedQueue]) await this.operator.deleteQueue(queue);
  }

  /** Deletes all queues and exchanges. */
  async close(pools: readonly string[]): Promise<void> {
    for (const { network } of this.#joined) await network.restore();
    await Promise.all(this.#joined.map(({ queue }) => queue.close()));
    for (const { network } of this.#joined) await network.close();
    await this.deleteQueues(pools);
    await this.operator.deleteExchange(`${this.prefix}.tell`);
    await this.#operator.close();
  }
}

interface LogLine {
  readonly level: keyof Logger;
  readonly fields: LogFields;
  readonly message: string;
}

/** Records log lines. */
export class RecordedLog implements Logger {
  readonly lines: LogLine[] = [];

  debug(fields: LogFields, message: string): void {
    this.lines.push({ level: "debug", fields, message });
  }

  info(fields: LogFields, message: string): void {
    this.lines.push({ level: "info", fields, message });
  }

  warn(fields: LogFields, message: string): void {
    this.lines.push({ level: "warn", fields, message });
  }

  error(fields: LogFields, message: string): void {
    this.lines.push({ level: "error", fields, message });
  }

  ofLevel(level: keyof Logger): LogLine[] {
    return this.lines.filter((line) => line.level === level);
  }
}
