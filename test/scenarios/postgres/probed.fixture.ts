/** Processes whose probes a test reads, with a separate database. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { createTestDatabase } from "../../conformance/store/postgres-database.fixture.ts";
import { type Receiver, startReceiver } from "../../peers/receiver.ts";
import { RunningCommand } from "../cli/command-line.fixture.ts";

const adminKey = "the key of whoever looks at probes";

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** Stops all processes at the end of the test. */
export class Probed {
  readonly #t: TestContext;
  readonly #env: Record<string, string>;
  readonly #commands: RunningCommand[] = [];

  private constructor(t: TestContext, env: Readonly<Record<string, string>>) {
    this.#t = t;
    this.#env = {
      POSTHORN_MASTER_KEY: Buffer.alloc(32, 5).toString("base64"),
      POSTHORN_ADMIN_KEY: adminKey,
      POSTHORN_EGRESS_ALLOW: "127.0.0.0/8",
      POSTHORN_EGRESS_ALLOW_HTTP: "true",
      POSTHORN_LOG_FORMAT: "json",
      ...env,
    };
  }

  static async open(t: TestContext, env: Readonly<Record<string, string>> = {}) {
    const database = await createTestDatabase();
    const probed = new Probed(t, { POSTHORN_DATABASE_URL: database.url, ...env });
    t.after(async () => {
      await probed.end();
      await database.drop();
    });
    return { database, probed };
  }

  /** Starts a process without waiting until it is running. */
  spawn(roles: string, port = 0): RunningCommand {
    const env = { ...this.#env, POSTHORN_ROLES: roles, POSTHORN_PORT: String(port) };
    const command = new RunningCommand(["serve"], { env });
    this.#commands.push(command);
    return command;
  }

  /** Resolves with the address when the process reports that it is running. */
  async start(roles: string, port = 0): Promise<{ readonly command: RunningCommand; readonly url: string }> {
    const command = this.spawn(roles, port);
    await command.until(/posthorn is running/);
    const name = roles.split(",").includes("api") ? "url" : "probesUrl";
    return { command, url: new RegExp(`"${name}":"([^"]+)"`).exec(command.stderr)?.[1] ?? "" };
  }

  /** Kills all processes that are still running. */
  async end(): Promise<void> {
    await Promise.all(this.#commands.map((command) => command.stop("SIGKILL")));
  }

  async receiver(): Promise<Receiver> {
    const receiver = await startReceiver();
    this.#t.after(() => receiver.close());
    return receiver;
  }
}

interface Request {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export async function ask(url: string, init: Request = {}): Promise<Answer> {
  const response = await fetch(url, { ...init, headers: { connection: "close", ...init.headers } });
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

export async function post(url: string, body: object): Promise<Answer["body"]> {
  const headers = { authorization: `Bearer ${adminKey}`, "content-type": "application/json" };
  const answer = await ask(url, { method: "POST", headers, body: JSON.stringify(body) });
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  return answer.body;
}

/** The reasons from `/readyz`; null if no response arrives. */
export async function readiness(url: string): Promise<Answer | null> {
  return ask(`${url}/readyz`).catch(() => null);
}

export function reasonsOf(answer: Answer | null): readonly unknown[] {
  return (answer?.body["reasons"] as readonly unknown[] | undefined) ?? [];
}

export async function metricsOf(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text();
}
