/** Random values. `uniform` is for load spreading and jitter; `bytes` is for IDs and secrets. */
export interface Random {
  /** Uniform in [0, 1). Not suitable for secrets. */
  uniform(): number;
  /** Returns cryptographically secure random bytes. */
  bytes(count: number): Uint8Array;
}
