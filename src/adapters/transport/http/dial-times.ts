import type { Clock } from "../../../ports/clock.ts";

/** When each step of a connection was done, in monotonic milliseconds; null until then. */
export class DialTimes {
  readonly startedMs: number;
  resolvedMs: number | null = null;
  connectedMs: number | null = null;
  securedMs: number | null = null;
  /** The address connected to, or tried last; null through a proxy. */
  peerAddress: string | null = null;
  readonly #clock: Pick<Clock, "monotonicMs">;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
    this.startedMs = clock.monotonicMs();
  }

  resolved(): void {
    this.resolvedMs = this.#clock.monotonicMs();
  }

  connected(): void {
    this.connectedMs = this.#clock.monotonicMs();
  }

  secured(): void {
    this.securedMs = this.#clock.monotonicMs();
  }

  get dnsMs(): number | null {
    return since(this.startedMs, this.resolvedMs);
  }

  get connectMs(): number | null {
    return since(this.resolvedMs ?? this.startedMs, this.connectedMs);
  }

  get tlsMs(): number | null {
    return since(this.connectedMs, this.securedMs);
  }

  /** When the connection became usable; null until then. `isSecure` includes TLS. */
  readyMs(isSecure: boolean): number | null {
    return isSecure ? this.securedMs : this.connectedMs;
  }
}

function since(from: number | null, until: number | null): number | null {
  return from === null || until === null ? null : Math.round(until - from);
}
