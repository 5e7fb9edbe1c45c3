import { createGateway, type GatewayOptions } from "../../../src/features/gateway/create-gateway.ts";
import { OwnAddresses } from "../../../src/features/gateway/address.ts";
import { GatewayDirectory } from "../../../src/features/gateway/gateway-directory.ts";
import type { GatewayServices } from "../../../src/features/gateway/gateway-services.ts";
import type { Services } from "../../../src/features/services.ts";
import { ModelGateway } from "../../simulation/model-store/gateway.ts";
import type { EngineAccess } from "../../../src/engine/engine-access.ts";

/** The real gateway, with tables in memory and an engine that supports only webhooks. */
export function createStandInGateway(
  parts: Pick<GatewayOptions, "secretBox" | "clock" | "random" | "telemetry"> & {
    readonly services: Services;
    readonly nextId: () => string;
  },
): GatewayServices {
  const { services, nextId, ...others } = parts;
  const known = new Map<string, Awaited<ReturnType<Services["webhooks"]["get"]>>["webhook"]>();
  const access = {
    nextId,
    refresh: async (ids: readonly string[]) => {
      for (const id of ids) {
        const view = await services.webhooks.get({ tenantId: null }, id).catch(() => null);
        if (view !== null) known.set(id, view.webhook);
      }
    },
    webhook: (id: string) => {
      const webhook = known.get(id);
      return webhook === undefined ? undefined : { webhook };
    },
  } as unknown as EngineAccess;
  const gateway = new ModelGateway();
  return createGateway({
    access,
    ...others,
    directory: new GatewayDirectory(gateway),
    tenants: { has: () => true },
    store: { gateway, history: { getEvent: async () => null } as never },
    consent: {} as never,
    takesCertificates: false,
    isUnserved: () => false,
    limits: { totalMax: 100, perKeyMax: 20, sourcesPerTenantMax: 200 },
    ownAddresses: new OwnAddresses({ urls: [], basePath: "", addressesOf: async () => [] }),
    deployment: { durability: "sqlite", payloadBytesMax: 262_144, payloadDays: 7, historyDays: 30 },
  });
}
