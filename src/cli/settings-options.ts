import { Option as FlagOption } from "commander";
import type { Command } from "commander";
import { flagOf, optionGroups } from "../config/option.ts";
import { optionEntries, optionsOf } from "../config/options.ts";
import type { OptionName, Settings } from "../config/options.ts";
import { resolveSettings } from "../config/resolve.ts";
import type { Resolution } from "../config/resolve.ts";
import { UsageError } from "./failures.ts";
import type { Invocation } from "./invocation.ts";

/** Adds a flag for every setting that may have one, and `--config`. */
export function addSettingsOptions(command: Command): Command {
  command.option("--config <file>", "settings in YAML");
  for (const group of optionGroups) {
    for (const [, option] of optionsOf(group)) {
      if (option.secret === true) continue;
      const { fallback, kind, description } = option;
      const text = description
        .replaceAll("`", "")
        .replace(/\.$/, "")
        .replace(/^\w/, (letter) => letter.toLowerCase());
      if (typeof fallback === "boolean") {
        command.addOption(new FlagOption(flagOf(option), text));
        command.addOption(new FlagOption(flagOf(option).replace("--", "--no-"), "the opposite").hideHelp());
      } else {
        const shown = option.fallbackText ?? kind.show(fallback);
        command.addOption(
          new FlagOption(
            `${flagOf(option)} <${kind.unit ?? "value"}>`,
            `${text}${shown === "" ? "" : ` (default: ${shown})`}`,
          ),
        );
      }
    }
  }
  return command;
}

/** The settings of this command line, environment and file, or why not. */
export function resolveFor(command: Command, invocation: Invocation): Resolution {
  const given = command.opts<Record<string, unknown>>();
  const flags: Partial<Record<OptionName, string | boolean>> = {};
  for (const [name, option] of optionEntries) {
    const value = given[attributeOf(flagOf(option))];
    const isGiven = typeof value === "string" || typeof value === "boolean";
    // `--no-dev` makes commander default `dev` to true; only what stands on the command line counts.
    if (isGiven && command.getOptionValueSource(attributeOf(flagOf(option))) === "cli") flags[name] = value;
  }
  const file = given["config"];
  return resolveSettings({ flags, env: invocation.env, file: typeof file === "string" ? file : undefined });
}

/** The settings, or a usage error with every problem. */
export function settingsFor(command: Command, invocation: Invocation): Settings {
  return resolvedFor(command, invocation).settings;
}

/** The same, with where each setting came from. */
export function resolvedFor(
  command: Command,
  invocation: Invocation,
): Extract<Resolution, { readonly kind: "resolved" }> {
  const resolution = resolveFor(command, invocation);
  if (resolution.kind === "resolved") return resolution;
  throw settingsProblem(resolution.problems);
}

export function settingsProblem(problems: readonly string[]): UsageError {
  const head = problems.length === 1 ? "a setting is wrong" : `${problems.length} settings are wrong`;
  return new UsageError(
    `${head}; nothing was started`,
    problems.map((problem) => `  ${problem}`),
  );
}

function attributeOf(flag: string): string {
  return flag.slice(2).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
