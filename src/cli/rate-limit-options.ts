import type { Command } from "commander";
import { rateLimitFields } from "../core/fields/tenant.ts";
import type { OptionValues } from "./client-command.ts";
import { UsageError } from "./failures.ts";
import { FieldOption } from "./field-option.ts";

/** `says` of what the rate is; "none" lifts the limit. */
export function addRateLimitOptions(command: Command, says: string): Command {
  return command
    .addOption(
      new FieldOption("--rate-limit <per-minute>", rateLimitFields.requestsPerMinute, {
        says: `${says}; none to lift it`,
        none: "none",
      }),
    )
    .addOption(
      // What was set stays where it is left out, so none is sent by itself.
      new FieldOption("--burst <requests>", rateLimitFields.burst, {
        says: "requests that may go at once, beside --rate-limit",
      }).default(undefined),
    );
}

/** Undefined where nothing was said, null where the limit is lifted. */
export function rateLimitOf(options: OptionValues): object | null | undefined {
  const burst = options.number("burst");
  const isLifted = options.text("rateLimit") === "none";
  const perMinute = isLifted ? undefined : options.number("rateLimit");
  if (burst !== undefined && perMinute === undefined)
    throw new UsageError("--burst goes with --rate-limit, which says how many follow in a minute");
  if (perMinute === undefined) return isLifted ? null : undefined;
  return { requests_per_minute: perMinute, ...(burst !== undefined && { burst }) };
}
