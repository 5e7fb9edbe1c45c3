import { readText } from "./deployment-files.fixture.ts";

export interface Instruction {
  readonly name: string;
  readonly value: string;
}

/** Instructions of the Dockerfile in order. Continued lines are joined. */
export function dockerfileInstructions(): readonly Instruction[] {
  return readText("Dockerfile")
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [, name = "", value = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
      return { name, value };
    });
}

/**
 * The value of an instruction of the last stage, such as `USER`. If the instruction occurs several times, the last one
 * applies.
 */
export function imageInstruction(name: string): string {
  const all = dockerfileInstructions();
  const stage = all.slice(all.findLastIndex((instruction) => instruction.name === "FROM"));
  return stage.findLast((instruction) => instruction.name === name)?.value ?? "";
}

/** Environment variables that the image sets for every process. */
export function imageEnvironment(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...imageInstruction("ENV").matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name = "", value = ""]) => [
      name,
      value,
    ]),
  );
}

/** The command of the health check, in the form in which Docker runs it. */
export function healthCommand(): readonly string[] {
  const [, command = "[]"] = /CMD (\[.*\])$/.exec(imageInstruction("HEALTHCHECK")) ?? [];
  return JSON.parse(command) as readonly string[];
}
