import { randomBytes } from "node:crypto";
import { chownSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { leftovers } from "./leftovers.fixture.ts";
import { accepts, type Account, accountOf, freePort, OwnProcess, ownFolder } from "./own-process.fixture.ts";

const startMsMax = 200_000;

interface Ports {
  readonly amqp: number;
  readonly distribution: number;
}

/**
 * A RabbitMQ node for a single test, with a separate name, ports and folder, and without plugins. Stopping it ends its
 * operating system process. Its queues keep their contents across a restart. As usual, it shares the port mapper `epmd`
 * with other nodes on the machine.
 */
export class RabbitmqServer {
  readonly url: string;
  readonly port: number;
  readonly #ports: Ports;
  readonly #name = `posthorn_${randomBytes(6).toString("hex")}@localhost`;
  readonly #folder: string;
  readonly #account: Account | null;
  #process: OwnProcess | null = null;
  #node: number | null = null;

  private constructor(ports: Ports, { folder, account }: { folder: string; account: Account | null }) {
    this.#ports = ports;
    this.port = ports.amqp;
    this.#folder = folder;
    this.#account = account;
    this.url = `amqp://guest:guest@127.0.0.1:${ports.amqp}`;
  }

  /** Process ID of the server's main process; undefined while the server is stopped. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  static async start(): Promise<RabbitmqServer> {
    const account = accountOf("rabbitmq");
    const ports = { amqp: await freePort(), distribution: await freePort() };
    const server = new RabbitmqServer(ports, { folder: ownFolder("rabbitmq", account), account });
    server.#write("enabled_plugins", "[].\n");
    server.#write("rabbitmq.conf", "loopback_users = none\n");
    try {
      await server.start();
    } catch (error) {
      await server.remove();
      throw error;
    }
    return server;
  }

  /** Resolves when the node accepts connections. Its queues can be used from then on. */
  async start(): Promise<void> {
    const process = new OwnProcess([program()], {
      env: this.#environment(),
      account: this.#account,
      cwd: this.#folder,
    });
    this.#process = process;
    const isUp = async () => (this.#readNode() === null ? false : accepts(this.port));
    await process.until(isUp, { what: "RabbitMQ starts", withinMs: startMsMax });
    this.#node = this.#readNode();
    if (this.#node !== null) leftovers.process(this.#node, "SIGKILL");
  }

  /** Stops the node gracefully: connections are closed and queues are written to disk. */
  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async remove(): Promise<void> {
    await this.kill();
    leftovers.removeFolder(this.#folder);
  }

  /** The signal is sent to the node itself, because the wrapper script would run a slow command to stop it. */
  async #end(signal: NodeJS.Signals): Promise<void> {
    const [script, node] = [this.#process, this.#node];
    if (script === null || !script.isRunning) return;
    if (node === null) {
      await script.end("SIGKILL");
      return;
    }
    process.kill(node, signal);
    // The script exits after the node.
    await script.end("SIGCONT");
    leftovers.processEnded(node);
    this.#node = null;
  }

  /** The PID of the node; null if it is unknown, or if the file is left over from the last run. */
  #readNode(): number | null {
    try {
      const pid = Number(readFileSync(join(this.#folder, "pid"), "utf8"));
      return Number.isInteger(pid) && pid > 0 ? pid : null;
    } catch {
      return null;
    }
  }

  #environment(): Readonly<Record<string, string>> {
    const path = (name: string): string => join(this.#folder, name);
    return {
      HOME: this.#folder,
      LANG: "C.UTF-8",
      RABBITMQ_NODENAME: this.#name,
      RABBITMQ_NODE_IP_ADDRESS: "127.0.0.1",
      RABBITMQ_NODE_PORT: String(this.#ports.amqp),
      RABBITMQ_DIST_PORT: String(this.#ports.distribution),
      RABBITMQ_MNESIA_BASE: path("mnesia"),
      RABBITMQ_LOG_BASE: path("log"),
      RABBITMQ_ENABLED_PLUGINS_FILE: path("enabled_plugins"),
      RABBITMQ_CONFIG_FILE: path("rabbitmq"),
      RABBITMQ_CONF_ENV_FILE: path("no-such-file"),
      RABBITMQ_PID_FILE: path("pid"),
      // One scheduler thread without busy waiting, because other processes need the CPUs too.
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS:
        "-kernel inet_dist_use_interface {127,0,0,1} +S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none",
    };
  }

  #write(name: string, text: string): void {
    const path = join(this.#folder, name);
    writeFileSync(path, text);
    if (this.#account !== null) chownSync(path, this.#account.uid, this.#account.gid);
  }
}

/** The script from the installation. Debian's wrapper in the path runs only as RabbitMQ's user. */
function program(): string {
  const versions = "/usr/lib/rabbitmq/lib";
  try {
    const newest = readdirSync(versions)
      .filter((name) => name.startsWith("rabbitmq_server-"))
      .toSorted()
      .at(-1);
    if (newest !== undefined) return join(versions, newest, "sbin/rabbitmq-server");
  } catch {
    // This is not a Debian system.
  }
  return "rabbitmq-server";
}
