import { maskSecrets } from "../credentials/secret-mask.ts";
import type { Flight } from "./flight.ts";

/** What came back from a receiver, without the secrets that its request showed to it. */
export function masked(
  { endpoint, accessToken }: Pick<Flight, "endpoint" | "accessToken">,
  { text, wasCut }: { readonly text: string; readonly wasCut: boolean },
): string {
  const { shownSecrets } = endpoint.config;
  const secrets = accessToken === null ? shownSecrets : [accessToken, ...shownSecrets];
  return maskSecrets(text, { secrets, wasCut });
}
