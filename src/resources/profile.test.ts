import assert from "node:assert/strict";
import { test } from "node:test";
import type { Profile } from "../domain/profile.ts";
import { profiles } from "../domain/profiles/index.ts";
import { snakeCaseJson } from "../http/mapping.ts";
import { compileValidator } from "../http/dispatch.ts";
import { profileSchema } from "./profile.ts";

const check = compileValidator(profileSchema, "body");

test("EDS-9.2-2 every published profile matches its schema", () => {
  for (const profile of profiles) assert.equal(check(snakeCaseJson(profile)), null, profile.name);
});

test("the schema enforces required and forbidden combinations of a profile", () => {
  const [standard] = profiles as readonly [Profile];
  const { classification, schedule } = standard;
  const broken: readonly object[] = [
    { sunset: undefined },
    { extra: 1 },
    { schedule: { ...schedule, kind: "random" } },
    { classification: { ...classification, fallback: { outcome: "maybe" } } },
    { classification: { ...classification, statuses: { 600: { outcome: "accepted" } } } },
    { pauses: { ...standard.pauses, categoriesMs: { boredom: 1 } } },
    { headers: [{ name: "X", value: "unheard_of" }] },
  ];
  for (const change of broken) {
    const published = JSON.parse(JSON.stringify(snakeCaseJson({ ...standard, ...change }))) as unknown;
    assert.notEqual(check(published), null, JSON.stringify(change));
  }
});
