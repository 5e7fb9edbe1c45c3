import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import type { Command } from "commander";
import { type Probe, probesOf } from "../../test/api/fields/probes.fixture.ts";
import type { Field } from "../resources/field.ts";
import { UsageError } from "./failures.ts";
import { FieldOption } from "./plain-commands.ts";
import { createProgram } from "./program.ts";
import { Terminal } from "./terminal.ts";

test("every field option accepts the bounds of its field and rejects values beyond", () => {
  const options = optionsOf(program());
  assert.ok(options.length > 30);
  const failures: string[] = [];
  for (const { option, where } of options) {
    for (const { text, isAccepted, what } of typedProbes(option.field)) {
      if (takes(option, text) !== isAccepted) {
        failures.push(`${where} ${option.long}: ${what} is ${isAccepted ? "refused" : "accepted"}`);
      }
    }
  }
  assert.deepEqual(failures, []);
});

test("an error names the option and its rule, not the value", () => {
  const secret = optionsOf(program()).find(({ option }) => option.long === "--secret");
  assert.throws(
    () => secret?.option.parseArg?.("canary\n", undefined),
    (error: unknown) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.message, /^--secret must be text without control characters(?!.*canary)/);
      return true;
    },
  );
});

function program(): Command {
  const nowhere = { write: () => true };
  return createProgram({
    env: {},
    stdin: Readable.from([]),
    terminal: (json) => new Terminal(nowhere, nowhere, {}, json),
    exit: () => assert.fail("unexpected exit"),
  });
}

interface Placed {
  readonly option: FieldOption;
  readonly where: string;
}

function optionsOf(command: Command, path = ""): readonly Placed[] {
  const where = `${path} ${command.name()}`;
  const own = command.options.filter((option) => option instanceof FieldOption);
  return [
    ...own.map((option) => ({ option, where })),
    ...command.commands.flatMap((child) => optionsOf(child, where)),
  ];
}

function takes(option: FieldOption, text: string): boolean {
  try {
    option.parseArg?.(text, undefined as never);
    return true;
  } catch (error) {
    assert.ok(error instanceof UsageError);
    return false;
  }
}

/**
 * Probes as they are typed on a command line. Null, empty lists and values of another type are omitted, because they
 * cannot be typed.
 */
function typedProbes(
  field: Field,
): readonly (Pick<Probe, "isAccepted" | "what"> & { readonly text: string })[] {
  const { kind } = field;
  const named = kind.is === "object" && kind.shorthand !== null ? kind.fields[kind.shorthand] : undefined;
  return probesOf("field", named ?? field, {}).flatMap(({ value, isAccepted, what }) => {
    const isUntyped = value === null || (Array.isArray(value) && value.length === 0);
    if (isUntyped || what.endsWith("another type")) return [];
    const one = typeof value === "string" ? value : JSON.stringify(value);
    return [{ text: Array.isArray(value) ? value.join(",") : one, isAccepted, what }];
  });
}
