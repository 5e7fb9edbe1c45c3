import { channelsPathOf } from "../../shared/notifications/channel-calls.ts";
import { session } from "../session.ts";

/** Of the tenant whose session this is. */
export function channelsPath(): string {
  return channelsPathOf(session.value?.tenant.id ?? "");
}
