import { option } from "./option.ts";
import { portalOrigins } from "./setting-kinds.ts";
import { flag } from "./value-kinds.ts";

/** The customer portal. */
export const portal = {
  portal: option({
    env: "POSTHORN_PORTAL",
    group: "Server",
    description:
      "Serve the portal of your customers at `/portal`. Nobody gets in without a session that your backend made.",
    kind: flag,
    fallback: true,
  }),
  portalOrigins: option<readonly string[]>({
    env: "POSTHORN_PORTAL_ORIGINS",
    group: "Server",
    description:
      "Pages that may call the API with the token of a portal session, such as `https://app.example.com`: for a portal of your own. Pages that show ours in a frame are not named here but with the session.",
    kind: portalOrigins,
    fallback: [],
    fallbackText: "none",
  }),
} as const;
