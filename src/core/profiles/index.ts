import type { Profile } from "../profile.ts";
import { standard } from "./standard.ts";

/** Every published profile, the default first. `GET /v1/profiles` lists them in this order. */
export const profiles: readonly Profile[] = [standard];

const profilesByName: ReadonlyMap<string, Profile> = new Map(
  profiles.map((profile) => [profile.name, profile]),
);

/** The profile with exactly this name, or undefined. */
export function findProfile(name: string): Profile | undefined {
  return profilesByName.get(name);
}
