/** Random bytes of a writer's number, which makes it unique among processes. */
export const writerBytes = 6;

/** The number that identifies the writer of statistics rows, in a range that both stores support. */
export function writerOf(bytes: Uint8Array): number {
  return bytes.reduce((number, byte) => number * 256 + byte, 1);
}
