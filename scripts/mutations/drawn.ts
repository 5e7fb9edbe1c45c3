// Forty rows drawn at random from those that were proved by a test and had no mutation, so that the table does not only hold
// what its authors thought of. `npm run mutations -- --draw` draws from today's rows; the list below was drawn once, and each of
// its rows has a mutation or a reason.

import { createHash } from "node:crypto";

const count = 40;
/** Rows that an outside trial found badly proved; they have mutations of their own. */
export const chosenByTrial =
  "EDS-6.2-4 EDS-9.2-1 EDS-9.7-6 EDS-11.6-2 IDK-13 CEW-2.2-2 TS16-61 TS16-72 TS16-110 TS16-119 WDS-71 WDS-76 WDS-88 WDS-103 " +
  "WDS-112 WDS-126 WDS-147 WDS-166 WDS-172 WDS-202 WDS-224 WDS-225 WDS-227 WDS-228 WDS-229 WDS-230 WDS-231 WDS-234 WDS-239";

/** How many rows there were to draw from in November 2026, and the seed. */
export const drawing = { rows: 414, seed: "8a002802" } as const;

export const drawnRows =
  "WDS-220 TS16-27 TS16-68 EDS-2-6 TS16-31 WDS-72 EDS-9.7-7 TS16-16 TS16-90 IDK-5 TS16-126 EDS-11.3-2 TS16-89 EDS-6.1-1 " +
  "WDS-64 TS16-19 EDS-9.2.2-4 WDS-97 WDS-122 EDS-9.2.3-12 CEW-4-1 WDS-74 CEW-4.2-4 EDS-9.4-2 WDS-43 WDS-214 WDS-91 CEW-2.1-3 " +
  "EDS-9.2.3-8 TS16-24 WDS-193 WDS-204 EDS-9.4-4 WDS-46 WDS-100 EDS-6.3-5 TS16-65 IDK-25 WDS-48 WDS-124";

/** Rows of the two lists that no change of the code can break, with the reason in Markdown. */
export const unbreakableRows: ReadonlyMap<string, string> = new Map([
  ["TS16-72", "it sums up other rows, and its static source addresses come from the network of the operator"],
]);

/** The seed is the first eight hex digits of the SHA-256 of the sorted ids, joined by line feeds. */
export function draw(ids: readonly string[]): { readonly seed: string; readonly drawn: readonly string[] } {
  const left = [...ids].toSorted();
  const seed = createHash("sha256").update(left.join("\n")).digest("hex").slice(0, 8);
  const next = mulberry32(Number.parseInt(seed, 16));
  const drawn: string[] = [];
  while (drawn.length < count && left.length > 0)
    drawn.push(...left.splice(Math.floor(next() * left.length), 1));
  return { seed, drawn };
}

/** A small generator whose numbers are the same everywhere: Math.random cannot be seeded. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
