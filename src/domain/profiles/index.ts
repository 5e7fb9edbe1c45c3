import type { Profile } from "../profile.ts";
import { cloudEvents } from "./cloudevents.ts";
import { eventDelivery } from "./event-delivery.ts";
import { standard } from "./standard.ts";
import { ts16a } from "./ts-16a.ts";
import { xWebhook } from "./x-webhook.ts";

/** All published profiles, the default first. `GET /v1/profiles` lists them in this order. */
export const profiles: readonly Profile[] = [standard, eventDelivery, ts16a, cloudEvents, xWebhook];

const profilesByName: ReadonlyMap<string, Profile> = new Map(
  profiles.map((profile) => [profile.name, profile]),
);

/** The profile with exactly this name, or undefined. */
export function findProfile(name: string): Profile | undefined {
  return profilesByName.get(name);
}
