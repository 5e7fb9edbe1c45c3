import { CuttingProxy } from "../../services/cutting-proxy.fixture.ts";
import { leftovers } from "../../services/leftovers.fixture.ts";
import { ownFolder } from "../../services/own-process.fixture.ts";
import { PostgresServer } from "../../services/postgres-server.fixture.ts";
import { RabbitmqServer } from "../../services/rabbitmq-server.fixture.ts";
import { RedisServer } from "../../services/redis-server.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { serverUnderTest } from "../posthorn-process.fixture.ts";
import { PosthornServer } from "./posthorn-server.fixture.ts";
import { adminKey } from "./webhooks.fixture.ts";

export interface DeploymentOptions {
  readonly apis?: number;
  readonly schedulers?: number;
  readonly workers?: number;
  /** Whether to use RabbitMQ and Redis in addition to PostgreSQL. */
  readonly distributed?: boolean;
  /** Settings of the PostgreSQL server. */
  readonly postgres?: Readonly<Record<string, string>>;
}

/**
 * A server, and the network between it and the remote processes. These are the first worker and, if there are two, the
 * second API process.
 */
export interface Service<Server> {
  readonly server: Server;
  readonly way: CuttingProxy;
}

/** Posthorn on several simulated machines with separate roles. It uses dedicated servers, which tests may stop. */
export class Deployment {
  readonly #options: DeploymentOptions;
  readonly #stack = new AsyncDisposableStack();
  readonly #folder = ownFolder("deployment", null);
  #parts: Parts | null = null;

  constructor(options: DeploymentOptions) {
    this.#options = options;
  }

  get postgres(): Service<PostgresServer> {
    return this.#started.postgres;
  }

  get rabbitmq(): Service<RabbitmqServer> {
    return present(this.#started.rabbitmq);
  }

  get redis(): Service<RedisServer> {
    return present(this.#started.redis);
  }

  get apis(): readonly PosthornServer[] {
    return this.#started.apis;
  }

  get schedulers(): readonly PosthornServer[] {
    return this.#started.schedulers;
  }

  get workers(): readonly PosthornServer[] {
    return this.#started.workers;
  }

  async start(): Promise<void> {
    const { apis = 1, schedulers = 2, workers = 3, distributed = false } = this.#options;
    this.#stack.defer(() => leftovers.removeFolder(this.#folder));
    const postgres = await this.#open(PostgresServer.start(this.#options.postgres));
    const [rabbitmq, redis] = distributed
      ? await Promise.all([this.#open(RabbitmqServer.start()), this.#open(RedisServer.start())])
      : [null, null];
    const services = { postgres, rabbitmq, redis };
    const make = (role: string, count: number): PosthornServer[] =>
      Array.from({ length: count }, (_, index) => {
        const isFar = role === "scheduler" ? false : index === (role === "worker" ? 0 : 1);
        return this.#server(`${role} ${index + 1}`, { POSTHORN_ROLES: role, ...addresses(services, isFar) });
      });
    const parts = {
      ...services,
      apis: make("api", apis),
      schedulers: make("scheduler", schedulers),
      workers: make("worker", workers),
    };
    this.#parts = parts;
    const servers = serversOf(parts);
    this.#stack.defer(async () => {
      await Promise.all(servers.map((server) => server.kill()));
    });
    await Promise.all(servers.map((server) => server.start()));
  }

  /** Waits until a process owns the webhook, and returns that process. */
  async ownerOf(webhookId: string): Promise<PosthornServer> {
    const found = await eventually(`an owner of ${webhookId}`, {
      ask: async () => {
        const [row] = await this.postgres.server.query(
          `SELECT o.worker FROM posthorn.ownership o JOIN posthorn.strings w ON w.ref = o.webhook
           WHERE w.string = '${webhookId}' AND o.worker IS NOT NULL`,
        );
        return this.workers.find(({ worker }) => worker !== null && worker === row?.["worker"]) ?? null;
      },
      holds: (owner) => owner !== null,
    });
    if (found === null) throw new Error("no owner");
    return found;
  }

  /** Warnings and errors in the log of each process. */
  troubles(): string {
    return serversOf(this.#started)
      .map((server) => `--- ${server.name}${server.isRunning ? "" : ", not running"}\n${server.troubles}`)
      .join("");
  }

  async close(): Promise<void> {
    await this.#stack.disposeAsync();
  }

  /** Resolves when every process is ready and reports no problems. */
  async untilSound(withinMs: number): Promise<void> {
    await eventually("every process says that all is well", {
      ask: async () =>
        (await Promise.all(serversOf(this.#started).map((server) => server.complaints()))).flat(),
      holds: (complaints) => complaints.length === 0,
      withinMs,
    });
  }

  async #open<Server extends OwnServer>(starting: Promise<Server>): Promise<Service<Server>> {
    const server = await starting;
    this.#stack.defer(() => server.remove());
    const way = await CuttingProxy.to(server.port);
    this.#stack.defer(() => way.close());
    return { server, way };
  }

  get #started(): Parts {
    if (this.#parts === null) throw new Error("the deployment was not started");
    return this.#parts;
  }

  #server(name: string, env: Readonly<Record<string, string>>): PosthornServer {
    const database = new URL(env["POSTHORN_DATABASE_URL"] ?? "");
    // A name by which the server can distinguish the connections.
    database.searchParams.set("application_name", `posthorn ${name}`);
    return new PosthornServer(name, {
      ...serverUnderTest,
      POSTHORN_DATA_DIR: this.#folder,
      POSTHORN_ADMIN_KEY: adminKey,
      POSTHORN_SHUTDOWN_GRACE_MS: "5000",
      ...env,
      POSTHORN_DATABASE_URL: database.href,
    });
  }
}

interface OwnServer {
  readonly port: number;
  readonly url: string;
  remove(): Promise<void>;
}

interface Services {
  readonly postgres: Service<PostgresServer>;
  readonly rabbitmq: Service<RabbitmqServer> | null;
  readonly redis: Service<RedisServer> | null;
}

interface Parts extends Services {
  readonly apis: readonly PosthornServer[];
  readonly schedulers: readonly PosthornServer[];
  readonly workers: readonly PosthornServer[];
}

/** Settings with the URLs of all servers. Remote processes use the network proxy. */
function addresses(
  { postgres, rabbitmq, redis }: Services,
  isFar: boolean,
): Readonly<Record<string, string>> {
  const of = ({ server, way }: Service<OwnServer>): string =>
    isFar ? way.addressOf(server.url) : server.url;
  return {
    POSTHORN_DATABASE_URL: of(postgres),
    ...(rabbitmq === null ? {} : { POSTHORN_QUEUE_URL: of(rabbitmq) }),
    ...(redis === null ? {} : { POSTHORN_REDIS_URL: of(redis) }),
  };
}

function serversOf({ apis, schedulers, workers }: Parts): readonly PosthornServer[] {
  return [...apis, ...schedulers, ...workers];
}

function present<Part>(part: Part | null): Part {
  if (part === null) throw new Error("the deployment has no such service");
  return part;
}
