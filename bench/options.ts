import { parseArgs } from "node:util";

export interface BenchOptions {
  readonly quick: boolean;
  readonly jsonFile: string | null;
  /** Null runs every row. */
  readonly only: readonly string[] | null;
  readonly profile: string | null;
}

/** Wrong usage; the message says what is right. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export const usage = `npm run bench [-- OPTIONS]
  --quick             smaller counts and fewer runs, under a minute
  --only NAME[,NAME]  these rows alone
  --json FILE         write the table as JSON
  --profile NAME      run one row once and print where its processor time goes
  --help`;

/** Null when help was asked for. */
export function parseOptions(
  args: readonly string[],
  names: readonly string[],
  profiled: readonly string[],
): BenchOptions | null {
  const { values } = parse(args);
  if (values.help === true) return null;
  const only = values.only?.flatMap((list) => list.split(",")).map((name) => name.trim()) ?? null;
  const profile = values.profile ?? null;
  requireKnown(only ?? [], names);
  requireKnown(profile === null ? [] : [profile], profiled);
  if (profile !== null && only !== null)
    throw new UsageError("--profile names its row itself; leave --only out");
  return {
    quick: values.quick === true,
    jsonFile: values.json ?? null,
    only: profile === null ? only : [profile],
    profile,
  };
}

function requireKnown(given: readonly string[], names: readonly string[]): void {
  for (const name of given) {
    if (!names.includes(name))
      throw new UsageError(`no such row here: ${name}; there are ${names.join(", ")}`);
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        quick: { type: "boolean" },
        only: { type: "string", multiple: true },
        json: { type: "string" },
        profile: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
