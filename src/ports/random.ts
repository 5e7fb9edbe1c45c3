/** Randomness. `uniform` is for load spreading and jitter; `bytes` is for IDs and secrets. */
export interface Random {
  /** In [0, 1). Not for secrets. */
  uniform(): number;
  /** Cryptographically secure. */
  bytes(count: number): Uint8Array;
}
