import { Terminal } from "./terminal.ts";

/** Command to run the program: an npm script in the source tree, npx elsewhere. */
export const programCommand: string = import.meta.url.endsWith(".ts")
  ? "npm run posthorn --"
  : "npx posthorn";
export const demoCommand: string = import.meta.url.endsWith(".ts") ? "npm run demo" : "npx posthorn demo";

/** Environment, input and output of one run. Tests and the demo create separate ones. */
export interface Invocation {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: AsyncIterable<string | Uint8Array>;
  terminal(json: boolean, fields?: readonly string[] | null): Terminal;
  /** Exits immediately; called on a second signal. */
  exit(status: number): never;
}

export function processInvocation(): Invocation {
  return {
    env: process.env,
    stdin: process.stdin,
    terminal: (json, fields) => new Terminal(process.stdout, process.stderr, process.env, json, fields),
    exit: (status) => process.exit(status),
  };
}

/** All of standard input as text. */
export async function readInput(stdin: Invocation["stdin"]): Promise<string> {
  return (await readInputBytes(stdin)).toString("utf8");
}

/** All of standard input as raw bytes. */
export async function readInputBytes(stdin: Invocation["stdin"]): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stdin) chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  return Buffer.concat(chunks);
}
