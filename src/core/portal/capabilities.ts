/** What a portal session may do; a route names the one that it requires (`Route.capability`). */
export const portalCapabilities = [
  "endpoints:read",
  "endpoints:write",
  "endpoints:delete",
  "secrets:read",
  "secrets:rotate",
  "deliveries:read",
  "payloads:read",
  "deliveries:retry",
  "endpoints:recover",
  "test:send",
  "filters:write",
  "transformations:write",
  "notifications:write",
] as const;
export type PortalCapability = (typeof portalCapabilities)[number];

/** Capabilities of a session that names none. Reading and replacing secrets is included only if named. */
export const portalCapabilitiesDefault: readonly PortalCapability[] = [
  "endpoints:read",
  "endpoints:write",
  "deliveries:read",
  "payloads:read",
  "deliveries:retry",
  "test:send",
];
