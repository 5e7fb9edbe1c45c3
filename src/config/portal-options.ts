import { option } from "./option.ts";
import { portalOrigins } from "./setting-kinds.ts";
import { flag } from "./value-kinds.ts";

/** The customer portal. */
export const portal = {
  portal: option({
    env: "POSTHORN_PORTAL",
    group: "Server",
    description: "Serve the customer portal at `/portal`. Access requires a session created by your backend.",
    kind: flag,
    fallback: true,
  }),
  portalOrigins: option<readonly string[]>({
    env: "POSTHORN_PORTAL_ORIGINS",
    group: "Server",
    description:
      "Origins that may call the API with a portal session token, such as `https://app.example.com`, for a custom portal. Pages that embed the built-in portal in a frame are set in the session instead.",
    kind: portalOrigins,
    fallback: [],
    fallbackText: "none",
  }),
} as const;
