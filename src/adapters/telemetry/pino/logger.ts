import { pino } from "pino";
import type { DestinationStream } from "pino";
import type { LogFields, Logger } from "../../../ports/telemetry.ts";
import { redact, redactText } from "./redaction.ts";
import { formatLine } from "./text-format.ts";

export interface LoggerOptions {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly format: "text" | "json";
  readonly colour: boolean;
  /** Writes whole lines; to standard error, because standard output is for data. */
  readonly write: (line: string) => void;
}

/** Structured log on pino. Fields are redacted before they are formatted, so that no format can leak secrets. */
export function createPinoLogger(options: LoggerOptions): Logger {
  const { format, colour, write } = options;
  const destination: DestinationStream = {
    write: format === "json" ? write : (line) => write(formatLine(line, { colour })),
  };
  const log = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: levelNames(format),
    },
    destination,
  );
  const at =
    (level: LoggerOptions["level"]) =>
    (fields: LogFields, message: string): void => {
      if (log.isLevelEnabled(level)) log[level](redact(fields), redactText(message));
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Level names for JSON, whose readers do not know pino's numbers; the text format has its own table. */
function levelNames(format: LoggerOptions["format"]) {
  return format === "json" ? { level: (label: string) => ({ level: label }) } : {};
}
