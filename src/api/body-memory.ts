/**
 * Memory for request bodies in flight, shared by all callers. Without a limit, a caller could fill the process by
 * sending many bodies and finishing none. A caller may take more only while it holds less than what is still free. One
 * caller can therefore hold at most half, and there is always room for another.
 */
export class BodyMemory {
  readonly #bytesMax: number;
  readonly #held = new Map<string, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Takes `bytes` more for a caller. Returns false and takes nothing if that exceeds the limit. */
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
