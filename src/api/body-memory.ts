/**
 * Memory for request bodies that are on their way, shared by all callers. Whoever sends many bodies and finishes none would
 * otherwise fill the process: a caller may take more only while it holds less than what is still free, so that one caller ends
 * at half of it, and there is always room for another one.
 */
export class BodyMemory {
  readonly #bytesMax: number;
  readonly #held = new Map<string, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Takes `bytes` more for a caller; false, and nothing taken, when they are too many now. */
  take(caller: string, bytes: number): boolean {
    const held = (this.#held.get(caller) ?? 0) + bytes;
    const free = this.#bytesMax - this.#bytes - bytes;
    if (free < 0 || held > free) return false;
    this.#held.set(caller, held);
    this.#bytes += bytes;
    return true;
  }

  giveBack(caller: string, bytes: number): void {
    const held = (this.#held.get(caller) ?? 0) - bytes;
    if (held > 0) this.#held.set(caller, held);
    else this.#held.delete(caller);
    this.#bytes -= bytes;
  }
}
