/** Randomness. `uniform` spreads load and decides jitter; `bytes` makes ids and secrets. */
export interface Random {
  /** In [0, 1). Not for secrets. */
  uniform(): number;
  /** Cryptographically secure. */
  bytes(count: number): Uint8Array;
}
