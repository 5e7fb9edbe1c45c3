/** What a session of the portal may do; a route names the one that it takes (`Route.capability`). */
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

/** Of a session that names none. Secrets are read and replaced only where that is named. */
export const portalCapabilitiesDefault: readonly PortalCapability[] = [
  "endpoints:read",
  "endpoints:write",
  "deliveries:read",
  "payloads:read",
  "deliveries:retry",
  "test:send",
];
