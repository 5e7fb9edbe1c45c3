import type { Profile } from "../profile.ts";
import { standard, standardHeaders } from "./standard.ts";

/**
 * CloudEvents over HTTP web hooks (CEW): permission before the first delivery, a bearer token with each delivery, the
 * granted rate as the limit, and no more deliveries after a `410`. Outcomes and schedule follow `standard`, because the
 * document does not define them.
 */
export const cloudEvents: Profile = {
  ...standard,
  name: "cloudevents",
  title: "CloudEvents",
  description:
    "CloudEvents in structured or binary mode, sent only to receivers that gave permission, with a bearer token.",
  payloadFormats: ["cloudevents-structured", "cloudevents-binary"],
  headers: [
    ...standardHeaders,
    { name: "ce-*", value: "content_format" },
    { name: "WebHook-Request-Origin", value: "request_origin" },
  ],
  migrationHeaders: [],
  registration: {
    verification: "cloudevents",
    verificationRequired: true,
    bearerTokenRequired: true,
    permanentRedirectAllowed: false,
  },
};
