/**
 * How far a publisher may run ahead of the deliveries. Wakes the publisher from the product's own callbacks: a loop that
 * looked every turn would keep the event loop spinning, and the product's grouped commits depend on its turns.
 */
export class Outstanding {
  readonly #countMax: number;
  #count = 0;
  #wake: { readonly room: number; readonly resolve: () => void } | null = null;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  add(count: number): void {
    this.#count += count;
  }

  settled(): void {
    this.#count -= 1;
    const waiting = this.#wake;
    if (waiting === null || this.#count + waiting.room > this.#countMax) return;
    this.#wake = null;
    waiting.resolve();
  }

  /** Resolves when `room` more fit. */
  async waitFor(room: number): Promise<void> {
    if (this.#count === 0 || this.#count + room <= this.#countMax) return;
    await new Promise<void>((resolve) => {
      this.#wake = { room, resolve };
    });
  }
}
