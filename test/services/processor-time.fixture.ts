/**
 * Milliseconds of processor time that this process has used. Limits on the work of a function use these, because a busy
 * machine stretches the wall clock but not the work.
 */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
