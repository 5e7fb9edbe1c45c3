import type { Settings } from "../config/options.ts";
import { samplingOf } from "../domain/tracing/sampling.ts";
import type { Clock } from "../ports/clock.ts";
import type { Logger } from "../ports/telemetry.ts";
import { infrastructureLookup } from "../system/host-names.ts";
import { createPinoLogger } from "../system/telemetry/logger.ts";
import type { OtlpTracer } from "../system/telemetry/otlp-tracer.ts";
import { version } from "./version.ts";

/** The log of a process. It is written to standard error, because standard output is for data. */
export function createLog(settings: Pick<Settings, "logLevel" | "logFormat">): Logger {
  const { stderr, env } = process;
  const isTerminal = stderr.isTTY;
  const isText = settings.logFormat === "text" || (settings.logFormat === "auto" && isTerminal);
  const noColour = env["NO_COLOR"] !== undefined && env["NO_COLOR"] !== "";
  return createPinoLogger({
    level: settings.logLevel,
    format: isText ? "text" : "json",
    colour: isTerminal && !noColour && env["TERM"] !== "dumb",
    write: (line) => void stderr.write(line),
  });
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Tracing according to the standard OpenTelemetry variables. If no endpoint is set, the result is null and
 * OpenTelemetry is not loaded.
 */
export async function openTracing(env: Environment, clock: Clock, log: Logger): Promise<OtlpTracer | null> {
  if (!isAskedFor(env)) return null;
  const { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument } = env;
  const sampling = samplingOf(sampler, argument);
  if (sampling === null) {
    const fields = { sampler, argument };
    log.error(fields, "OTEL_TRACES_SAMPLER or OTEL_TRACES_SAMPLER_ARG is not valid; tracing is disabled");
    return null;
  }
  const { OtlpTracer: Tracer } = await import("../system/telemetry/otlp-tracer.ts");
  return new Tracer({ clock, log, sampling, serviceVersion: version, lookup: infrastructureLookup });
}

function isAskedFor(env: Environment): boolean {
  if (env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true" || env["OTEL_TRACES_EXPORTER"] === "none")
    return false;
  return [env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"], env["OTEL_EXPORTER_OTLP_ENDPOINT"]].some(
    (endpoint) => endpoint !== undefined && endpoint !== "",
  );
}
