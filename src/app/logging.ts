import { createPinoLogger } from "../adapters/telemetry/pino/logger.ts";
import type { Settings } from "../config/options.ts";
import type { Logger } from "../ports/telemetry.ts";

/** The log of a process. It goes to standard error because standard output is for data. */
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
