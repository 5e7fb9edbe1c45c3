import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chownSync, mkdtempSync } from "node:fs";
import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { leftovers } from "./leftovers.fixture.ts";

/** The user that runs a server. Most servers refuse to run as root. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

export interface OwnProcessOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly account?: Account | null;
  readonly cwd?: string;
  /** Ends the process immediately, with all its children; by default with SIGKILL. */
  readonly killSignal?: NodeJS.Signals;
}

const outputCharactersMax = 4_000_000;
const askAgainMs = 20;

/** A process that belongs to a test. Its output is kept, and it never outlives the test. */
export class OwnProcess {
  readonly #child: ChildProcess;
  /** Resolves with the exit status, or with null if a signal ended the process. */
  readonly ended: Promise<number | null>;
  /** The complete output, or only its end if it is long. */
  output = "";

  constructor(command: readonly string[], options: OwnProcessOptions = {}) {
    const [program = "", ...rest] = command;
    const { env = {}, account = null, cwd, killSignal = "SIGKILL" } = options;
    const child = spawn(program, rest, {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      ...(cwd === undefined ? {} : { cwd }),
      ...account,
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => this.#keep(chunk.toString()));
    const { pid } = child;
    if (pid !== undefined) leftovers.process(pid, killSignal);
    this.ended = new Promise((resolve) => {
      const gone = (code: number | null) => {
        if (pid !== undefined) leftovers.processEnded(pid);
        resolve(code);
      };
      child.once("exit", gone);
      child.once("error", (error) => {
        this.#keep(String(error));
        if (pid === undefined) gone(null);
      });
    });
  }

  /** Undefined if the process did not start. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isRunning(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves when the condition holds; rejects if the process ends first or takes too long. */
  async until(
    holds: () => boolean | Promise<boolean>,
    { what, withinMs }: { readonly what: string; readonly withinMs: number },
  ): Promise<void> {
    const deadline = performance.now() + withinMs;
    while (!(await holds())) {
      if (!this.isRunning) throw new Error(`${what}: the process ended\n${this.#end()}`);
      if (performance.now() > deadline) throw new Error(`${what}: not within ${withinMs} ms\n${this.#end()}`);
      await new Promise((resolve) => setTimeout(resolve, askAgainMs));
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /**
   * Sends the signal, and resolves with the exit status when the process has ended, even if it was paused. Kills the
   * process if it takes longer than `withinMs`.
   */
  async end(name: NodeJS.Signals, withinMs = 30_000): Promise<number | null> {
    if (!this.isRunning) return this.#child.exitCode;
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), withinMs);
    this.#child.kill(name);
    this.#child.kill("SIGCONT");
    const status = await this.ended;
    clearTimeout(timer);
    return status;
  }

  #keep(text: string): void {
    this.output += text;
    if (this.output.length > outputCharactersMax) this.output = this.output.slice(-outputCharactersMax / 2);
  }

  #end(): string {
    return this.output.slice(-8_000);
  }
}

/**
 * The account that runs a service. Null if the tests do not run as root; all processes then run as the current user.
 */
export function accountOf(name: string): Account | null {
  if (process.getuid?.() !== 0) return null;
  for (const user of [name, "nobody"]) {
    try {
      const [uid, gid] = ["-u", "-g"].map((flag) =>
        Number(execFileSync("id", [flag, user], { stdio: ["ignore", "pipe", "ignore"] }).toString()),
      );
      if (uid !== undefined && gid !== undefined) return { uid, gid };
    } catch {
      // This system has no such user.
    }
  }
  return null;
}

/** Creates a folder for the files of a server, which the account can use. */
export function ownFolder(name: string, account: Account | null): string {
  const folder = mkdtempSync(join(tmpdir(), `posthorn-${name}-`));
  leftovers.folder(folder);
  if (account !== null) chownSync(folder, account.uid, account.gid);
  return folder;
}

/**
 * Below the range of ports that systems use for outgoing connections. The port therefore stays unused while a server is
 * stopped.
 */
const portMin = 20_000;
const portMax = 31_999;

/**
 * A port that no other test process gets until this process ends, even while its server is stopped. A UDP socket with
 * the same number reserves it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = portMin + Math.floor(Math.random() * (portMax - portMin));
    const claim = await claimOf(port);
    if (claim === null) continue;
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
    claim.close();
  }
}

/** Null if the port belongs to another process. */
function claimOf(port: number): Promise<UdpSocket | null> {
  const claim = createSocket("udp4").unref();
  return new Promise((resolve) => {
    claim.once("error", () => resolve(null));
    claim.bind({ port, address: "127.0.0.1", exclusive: true }, () => resolve(claim));
  });
}

/** Whether the port accepts connections. */
export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
