import { spawn, type SpawnOptions } from "node:child_process";

/**
 * Runs Node with these arguments. Resolves with the exit status and with the combined text of standard output and
 * standard error, in order.
 */
export async function outputOf(
  args: readonly string[],
  options: Pick<SpawnOptions, "cwd" | "env" | "timeout">,
): Promise<{ readonly status: number; readonly output: string }> {
  const child = spawn(process.execPath, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const keep = (text: string): void => void (output += text);
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", keep);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once("error", reject);
  child.once("close", (code, signal) => {
    if (signal !== null) output += `\nended by ${signal}`;
    resolve(code ?? 1);
  });
  return { status: await promise, output };
}
