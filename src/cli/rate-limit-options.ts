import type { Command } from "commander";
import { rateLimitFields } from "../core/fields/tenant.ts";
import type { OptionValues } from "./client-command.ts";
import { UsageError } from "./failures.ts";
import { FieldOption } from "./field-option.ts";

/** `says` describes the rate. "none" removes the limit. */
export function addRateLimitOptions(command: Command, says: string): Command {
  return command
    .addOption(
      new FieldOption(
        "--rate-limit <per-minute>",
        rateLimitFields.requestsPerMinute,
        `${says}, or none to remove the limit`,
        "none",
      ),
    )
    .addOption(
      // No default, so that an omitted option keeps the current value.
      new FieldOption("--burst <requests>", rateLimitFields.burst, "burst size, with --rate-limit").default(
        undefined,
      ),
    );
}

/** Undefined if not given, null to remove the limit. */
export function rateLimitOf(options: OptionValues): object | null | undefined {
  const burst = options.number("burst");
  const isLifted = options.text("rateLimit") === "none";
  const perMinute = isLifted ? undefined : options.number("rateLimit");
  if (burst !== undefined && perMinute === undefined) throw new UsageError("--burst requires --rate-limit");
  if (perMinute === undefined) return isLifted ? null : undefined;
  return { requests_per_minute: perMinute, ...(burst !== undefined && { burst }) };
}
