import type { RequestPace } from "../ports/timing/request-pace.ts";

/** Serialises objects of several megabytes, yielding between their members. Equal to the output of `JSON.stringify`. */
export async function jsonInTurns(value: unknown, pace: RequestPace, depth = 0): Promise<string> {
  if (depth === depthMax || typeof value !== "object" || value === null || Array.isArray(value)) {
    await pace.worked();
    return JSON.stringify(value) ?? "null";
  }
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    members.push(`${JSON.stringify(name)}:${await jsonInTurns(member, pace, depth + 1)}`);
  }
  return `{${members.join(",")}}`;
}

/** `components`, `schemas`, one schema: each schema is bounded. */
const depthMax = 3;
