/**
 * Processor time that this process has used, in milliseconds. Tests that limit the work of a function use it, because a
 * busy machine affects the wall clock time but not the work.
 */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
