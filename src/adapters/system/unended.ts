/**
 * Calls back with the kinds of what is still open when the process has not ended by itself within a time. It keeps no
 * process alive for that, so the call back is a sign of a leak.
 */
export function whenUnended(afterMs: number, tell: (open: readonly string[]) => void): void {
  setTimeout(() => tell(process.getActiveResourcesInfo()), afterMs).unref();
}
