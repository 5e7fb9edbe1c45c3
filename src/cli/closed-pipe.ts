/**
 * Handles a closed pipe, as in `posthorn … | head`. It is not an error. It acts like a stop signal, so that commands
 * such as `listen` can clean up. A closed standard error is ignored, so that a server survives its log reader.
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
