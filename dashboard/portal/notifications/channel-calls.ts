import { channelsPathOf } from "../../shared/notifications/channel-calls.ts";
import { session } from "../session.ts";

/** Path of the current tenant's channels. */
export function channelsPath(): string {
  return channelsPathOf(session.value?.tenant.id ?? "");
}
