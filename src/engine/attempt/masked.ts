import { maskSecrets } from "../credentials/secret-mask.ts";
import type { Flight } from "./flight.ts";

/** Text from a receiver, with the secrets of the request masked. */
export function masked(
  { endpoint, accessToken }: Pick<Flight, "endpoint" | "accessToken">,
  { text, wasCut }: { readonly text: string; readonly wasCut: boolean },
): string {
  const { shownSecrets } = endpoint.config;
  const secrets = accessToken === null ? shownSecrets : [accessToken, ...shownSecrets];
  return maskSecrets(text, { secrets, wasCut });
}
