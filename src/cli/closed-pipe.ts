/**
 * `posthorn … | head`: who read the output has seen enough. That is no error of ours, and commands that go on until they
 * are stopped, such as `listen`, have something to clean up, so it counts as a signal to stop. Losing standard error
 * stops nothing: a server goes on when whoever read its log has left.
 */
export function endWithReader(streams: Pick<NodeJS.Process, "stdout" | "stderr">): void {
  let isFirst = true;
  streams.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && isFirst) throw error;
    if (!isFirst) return;
    isFirst = false;
    if (!process.emit("SIGTERM")) process.exit(0);
  });
  streams.stderr.on("error", () => undefined);
}
