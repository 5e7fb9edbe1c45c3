// Who imports whom: rooms of the engine and their order, and how many files use each file.

import { posix } from "node:path";
import engineRooms from "../engine-rooms.json" with { type: "json" };
import type { SourceFile } from "../source-files.ts";
import { walk } from "../source-files.ts";
import { specifierOf } from "../tidy/syntax.ts";
import type { Figure } from "./figure.ts";

/**
 * The rooms of src/engine from the ground up: each may import those below it. `.` is the engine's own folder, without its
 * options, which know of no room. A room that is missing here, such as one of an older checkout, has no order.
 */
const floors: readonly (readonly string[])[] = [["engine-options.ts"], ...engineRooms, ["."]];

const smallFileLines = 60;

interface Import {
  readonly from: string;
  readonly to: string;
}

export function rooms(files: readonly SourceFile[]): Figure[] {
  const engine = files.filter(({ path }) => path.startsWith("src/engine/"));
  const names = new Set(engine.map(({ path }) => roomOf(path)));
  const between = importsOf(engine)
    .filter(({ to }) => to.startsWith("src/engine/"))
    .filter(({ from, to }) => roomOf(from) !== roomOf(to));
  const upward = between.filter(({ from, to }) => floorOf(from) < floorOf(to));
  const arrows = new Set(upward.map(({ from, to }) => `${roomOf(from)} -> ${roomOf(to)}`));
  const withoutOrder = [...names].filter((name) => !floors.flat().includes(name));
  return [
    { name: "engine: rooms", value: names.size, found: [...names].toSorted() },
    { name: "engine: rooms without an order", value: withoutOrder.length, found: withoutOrder },
    { name: "engine: files in the engine's own folder", value: count(engine, ".") },
    { name: "engine: arrows between rooms that go upward", value: arrows.size, found: [...arrows] },
    {
      name: "engine: imports that go upward",
      value: upward.length,
      found: upward.map(({ from, to }) => `${from} -> ${to}`),
    },
  ];
}

function count(engine: readonly SourceFile[], room: string): number {
  return engine.filter(({ path }) => roomOf(path) === room).length;
}

export function importers(files: readonly SourceFile[]): Figure[] {
  const users = new Map<string, Set<string>>(files.map(({ path }) => [path, new Set()]));
  for (const { from, to } of importsOf(files)) users.get(to)?.add(from);
  const counts = [...users.values()].map(({ size }) => size);
  const single = files.filter(
    ({ path, lineCount }) => lineCount < smallFileLines && users.get(path)?.size === 1,
  );
  return [
    { name: "files: importers, mean", value: (sum(counts) / Math.max(1, counts.length)).toFixed(1) },
    { name: "files with one importer", value: counts.filter((size) => size === 1).length },
    {
      name: `files with one importer and under ${smallFileLines} lines`,
      value: single.length,
      found: single.map(({ path }) => `${path} <- ${[...(users.get(path) ?? [])].join()}`),
    },
  ];
}

/** Each pair of files once, however many statements join them. */
function importsOf(files: readonly SourceFile[]): Import[] {
  return files.flatMap((file) => {
    const targets = new Set<string>();
    walk(file.tree, (node) => {
      const specifier = specifierOf(node);
      if (specifier?.startsWith(".") === true) targets.add(posix.join(posix.dirname(file.path), specifier));
    });
    return [...targets].map((to) => ({ from: file.path, to }));
  });
}

function roomOf(path: string): string {
  const [, , room = "", below] = path.split("/");
  if (below !== undefined) return room;
  return room === "engine-options.ts" ? room : ".";
}

/** A room without an order has no direction either. */
function floorOf(path: string): number {
  const floor = floors.findIndex((names) => names.includes(roomOf(path)));
  return floor < 0 ? Number.NaN : floor;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
