/**
 * Milliseconds of processor time that this process has used. What bounds the work of a function is measured in these, because
 * a machine that is busy with other things stretches the wall clock and not the work.
 */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
