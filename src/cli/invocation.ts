import { Terminal } from "./terminal.ts";

/** One run of the program: what it may read and where it writes. Tests and the demo make their own. */
export interface Invocation {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: AsyncIterable<string | Uint8Array>;
  terminal(options: { readonly json: boolean; readonly fields?: readonly string[] | null }): Terminal;
  /** Ends the process at once; for a second signal. */
  exit(status: number): never;
}

export function processInvocation(): Invocation {
  return {
    env: process.env,
    stdin: process.stdin,
    terminal: (options) =>
      new Terminal({ ...options, out: process.stdout, err: process.stderr, env: process.env }),
    exit: (status) => process.exit(status),
  };
}

/** All of standard input as text. */
export async function readInput(stdin: Invocation["stdin"]): Promise<string> {
  return (await readInputBytes(stdin)).toString("utf8");
}

/** All of standard input as it came. */
export async function readInputBytes(stdin: Invocation["stdin"]): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stdin) chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  return Buffer.concat(chunks);
}
