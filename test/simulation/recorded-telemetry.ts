import type { CircuitState } from "../../src/domain/circuit-breaker.ts";
import type { DeliveryState } from "../../src/domain/delivery.ts";
import type { Alarm, LogFields, Telemetry } from "../../src/ports/telemetry.ts";

/** The engine's telemetry. It is traced, counted, and searched for forbidden content. */
export class RecordedTelemetry {
  readonly states = new Map<DeliveryState, number>();
  readonly circuits = new Map<CircuitState, number>();
  readonly alarms = new Map<Alarm, number>();
  readonly messages = new Map<string, number>();
  /**
   * Number of responses that arrived after their delivery had ended, by the reason of the end and the resulting state.
   */
  readonly lateAnswers = new Map<string, number>();
  readonly #trace: (line: string) => void;

  constructor(trace: (line: string) => void) {
    this.#trace = trace;
  }

  readonly telemetry: Telemetry = {
    log: {
      debug: (fields, message) => this.#line("debug", fields, message),
      info: (fields, message) => this.#line("info", fields, message),
      warn: (fields, message) => this.#line("warn", fields, message),
      error: (fields, message) => this.#line("error", fields, message),
    },
    metrics: {
      attemptSettled: ({ status }) => count(this.states, status),
      circuitMoved: (_, to) => count(this.circuits, to),
      rateLimited: () => undefined,
      largePayload: () => undefined,
      eventPublished: () => undefined,
      commitWritten: () => undefined,
      apiCallLimited: () => undefined,
      notified: () => undefined,
      alarmed: (alarm) => count(this.alarms, alarm),
    },
  };

  #line(level: string, fields: LogFields, message: string): void {
    count(this.messages, message);
    if (message === "a request completed after its delivery had ended")
      count(this.lateAnswers, `${String(fields["reason"])}, ${String(fields["is"])}`);
    this.#trace(`${level} ${message} ${JSON.stringify(fields)}`);
  }
}

export function count<Name>(counts: Map<Name, number>, name: Name): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
