/** So many random bytes make the number of a writer, which no other process has. */
export const writerBytes = 6;

/** Who writes a row of statistics, as a number that both stores take. */
export function writerOf(bytes: Uint8Array): number {
  return bytes.reduce((number, byte) => number * 256 + byte, 1);
}
