// How long files and functions are.

import type { SourceFile } from "../source-files.ts";
import { functionsOf } from "../tidy/functions.ts";
import type { Figure } from "./figure.ts";

interface Sized {
  readonly name: string;
  readonly lines: number;
}

export function sizes(files: readonly SourceFile[]): Figure[] {
  const fileSizes = files.map(({ path, lineCount }) => ({ name: path, lines: lineCount }));
  const functionSizes = files.flatMap(functionsOf).map(({ key, lines }) => ({ name: key, lines }));
  const lines = fileSizes.reduce((total, each) => total + each.lines, 0);
  return [
    { name: "files", value: files.length },
    { name: "lines", value: lines },
    ...spread("file", fileSizes),
    { name: "functions", value: functionSizes.length },
    ...spread("function", functionSizes),
  ];
}

function spread(what: string, sized: readonly Sized[]): Figure[] {
  const sorted = sized.toSorted((left, right) => left.lines - right.lines);
  const median = sorted[Math.floor(sorted.length / 2)];
  const longest = sorted.at(-1);
  return [
    { name: `${what}: lines, median`, value: median?.lines ?? 0 },
    { name: `${what}: lines, longest`, value: `${longest?.lines ?? 0} (${longest?.name ?? "none"})` },
  ];
}
