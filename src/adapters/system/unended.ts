/**
 * Calls back with the kinds of resources still open when the process has not ended within a time. The timer does not
 * keep the process alive, so the callback indicates a leak.
 */
export function whenUnended(afterMs: number, tell: (open: readonly string[]) => void): void {
  setTimeout(() => tell(process.getActiveResourcesInfo()), afterMs).unref();
}
