import { Option as FlagOption } from "commander";
import type { Command } from "commander";
import { flagOf, optionGroups } from "../config/option.ts";
import { optionEntries, optionsOf } from "../config/options.ts";
import type { OptionName, Settings } from "../config/options.ts";
import { resolveSettings } from "../config/resolve.ts";
import type { Resolution } from "../config/resolve.ts";
import { UsageError } from "./failures.ts";
import type { Invocation } from "./invocation.ts";

/** Adds `--config`, and a flag for every setting that is not secret. */
export function addSettingsOptions(command: Command): Command {
  command.option("--config <file>", "YAML file with settings");
  for (const group of optionGroups) {
    for (const [, option] of optionsOf(group)) {
      if (option.secret === true) continue;
      const { fallback, kind, description } = option;
      const text = description
        .replaceAll("`", "")
        .replace(/\.$/, "")
        .replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());
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

/** Settings of the command line, environment and file, or their problems. */
export function resolveFor(command: Command, invocation: Invocation): Resolution {
  const given = command.opts<Record<string, unknown>>();
  const flags: Partial<Record<OptionName, string | boolean>> = {};
  for (const [name, option] of optionEntries) {
    const value = given[attributeOf(flagOf(option))];
    const isGiven = typeof value === "string" || typeof value === "boolean";
    // `--no-dev` makes commander default `dev` to true, so check that the flag was passed.
    if (isGiven && command.getOptionValueSource(attributeOf(flagOf(option))) === "cli") flags[name] = value;
  }
  const file = given["config"];
  return resolveSettings({ flags, env: invocation.env, file: typeof file === "string" ? file : undefined });
}

/** Returns the settings, or throws a usage error that lists all problems. */
export function settingsFor(command: Command, invocation: Invocation): Settings {
  return resolvedFor(command, invocation).settings;
}

/** The settings with their sources. */
export function resolvedFor(
  command: Command,
  invocation: Invocation,
): Extract<Resolution, { readonly kind: "resolved" }> {
  const resolution = resolveFor(command, invocation);
  if (resolution.kind === "resolved") return resolution;
  throw settingsProblem(resolution.problems);
}

export function settingsProblem(problems: readonly string[]): UsageError {
  const head = problems.length === 1 ? "a setting is invalid" : `${problems.length} settings are invalid`;
  return new UsageError(
    `${head}; nothing was started`,
    problems.map((problem) => `  ${problem}`),
  );
}

function attributeOf(flag: string): string {
  return flag.slice(2).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
