import type { GatewayOutcome } from "../../../core/gateway/request.ts";
import { Buckets } from "./buckets.ts";
import { LabelValues } from "./label-values.ts";
import { histogram } from "./plain-metric.ts";
import type { PlainMetric } from "./plain-metric.ts";

const sourcesMax = 500;

/** Counts messages to the gateway. */
export class GatewayCounts {
  readonly #sources = new LabelValues(sourcesMax);
  /** By source and outcome, separated by a space. */
  readonly #requests = new Map<string, number>();
  readonly #incidents = new Map<string, number>();
  readonly #seconds = new Buckets([
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  ]);

  request(fact: {
    readonly sourceId: string;
    readonly outcome: GatewayOutcome;
    readonly durationMs: number;
  }): void {
    const name = `${this.#sources.admit(fact.sourceId)} ${fact.outcome}`;
    this.#requests.set(name, (this.#requests.get(name) ?? 0) + 1);
    this.#seconds.observe(fact.durationMs / 1_000);
  }

  incident(kind: string): void {
    this.#incidents.set(kind, (this.#incidents.get(kind) ?? 0) + 1);
  }

  metrics(): readonly PlainMetric[] {
    return [
      {
        name: "posthorn_gateway_requests_total",
        help: "Requests that sources received, by outcome. Sources beyond a limit count as other.",
        type: "counter",
        samples: () =>
          [...this.#requests].map(([name, value]) => {
            const [source = "", outcome = ""] = name.split(" ");
            return { labels: { source, outcome }, value };
          }),
      },
      {
        name: "security_incidents_total",
        help: "Messages to the gateway that indicate an attack, by kind.",
        type: "counter",
        samples: () => [...this.#incidents].map(([kind, value]) => ({ labels: { kind }, value })),
      },
      histogram(
        "posthorn_gateway_request_duration_seconds",
        "Time until a request to the gateway was answered.",
        this.#seconds,
      ),
    ];
  }
}
