/**
 * CPU time that this process has used, in milliseconds. Tests that limit the work of a function use it, because other
 * work on a busy machine affects only the wall-clock time.
 */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
