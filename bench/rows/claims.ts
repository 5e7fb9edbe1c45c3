import type { ClaimsPlace } from "../claims/main.ts";
import { Child } from "../process/child.ts";
import { judged } from "../row.ts";
import type { Context, Line, Row } from "../row.ts";
import { createBenchDatabase } from "../servers/bench-database.ts";
import { median } from "../statistics.ts";
import type { ClaimRates } from "../store/compare-claims.ts";

const fewWaiting = 1_000;
const goal = 0.8;
/** Until code is compiled. */
const warmUpRounds = 3;

/** Claims from a PostgreSQL store in which much waits, beside one in which little does. */
export const claims: Row = {
  name: "claims",
  async run(context) {
    const databases = [await createBenchDatabase(), await createBenchDatabase()] as const;
    try {
      const [few, many] = databases.map(({ url }): ClaimsPlace => ({ kind: "postgres", at: url }));
      if (few === undefined || many === undefined) throw new Error("two databases were made");
      const tidy = async () => {
        await Promise.all(databases.map((database) => database.tidy()));
      };
      const rounds = context.quick ? 11 : 61;
      return [await compare(context, { name: "claims", few, many, rounds, tidy })];
    } finally {
      await Promise.all(databases.map((database) => database.drop()));
    }
  },
};

/** The same with the embedded store. */
export const claimsEmbedded: Row = {
  name: "claims-embedded",
  async run(context) {
    const folders = [context.folders.fresh("claims"), context.folders.fresh("claims")] as const;
    try {
      const few: ClaimsPlace = { kind: "sqlite", at: folders[0] };
      const many: ClaimsPlace = { kind: "sqlite", at: folders[1] };
      // A round takes a fiftieth of the time here.
      const rounds = context.quick ? 61 : 201;
      const tidy = async () => undefined;
      return [await compare(context, { name: "claims-embedded", few, many, rounds, tidy })];
    } finally {
      for (const folder of folders) context.folders.discard(folder);
    }
  },
};

interface Comparison {
  readonly name: string;
  readonly few: ClaimsPlace;
  readonly many: ClaimsPlace;
  readonly rounds: number;
  /** After the stores were filled. */
  readonly tidy: () => Promise<void>;
}

async function compare(context: Context, { name, few, many, rounds, tidy }: Comparison): Promise<Line> {
  const manyWaiting = context.quick ? 200_000 : 1_000_000;
  const waiting = manyWaiting.toLocaleString("en");
  const child = new Child(new URL("../claims/main.ts", import.meta.url));
  try {
    await child.call("open", { few, many });
    const startedAt = performance.now();
    await child.call("park", { few: fewWaiting, many: manyWaiting });
    await tidy();
    context.progress(`${name}: backlog written in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    await child.call("compare", { rounds: warmUpRounds });
    if (context.profile !== null) await child.call("startProfile");
    const rates = await child.call<ClaimRates>("compare", { rounds });
    if (context.profile !== null) await child.call("stopProfile", { file: context.profile.file });
    await child.call("close");
    context.note(
      `${name}: ${waiting} waiting beside ${fewWaiting.toLocaleString("en")}; ` +
        `quartiles ${quartiles(rates.many)}/s beside ${quartiles(rates.few)}/s`,
    );
    const value = median(rates.many);
    const baseline = median(rates.few);
    return judged(
      { name, value, unit: `claims/s, ${waiting} waiting`, baseline, ratio: value / baseline },
      `≥ ${goal.toFixed(2)} × ${fewWaiting.toLocaleString("en")} waiting`,
      (share) => share >= goal,
    );
  } finally {
    await child.kill();
  }
}

function quartiles(rates: readonly number[]): string {
  const sorted = rates.toSorted((a, b) => a - b);
  return [0.25, 0.75]
    .map((share) => Math.round(sorted[Math.floor(share * sorted.length)] ?? Number.NaN))
    .join("–");
}
