import type { DeliveryPolicy } from "../../domain/delivery-policy.ts";
import { standard } from "../../domain/profiles/standard.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { EndpointConfig } from "./endpoint-config.ts";
import { Endpoint } from "./endpoint.ts";
import { TenantQueue } from "./tenant-queue.ts";

export interface BareEndpointDraft {
  readonly id?: string;
  readonly policy?: Partial<DeliveryPolicy>;
  readonly owned?: boolean;
  readonly ownerEpoch?: number;
  /** Requests in flight. */
  readonly inFlight?: number;
  readonly now?: number;
}

/**
 * An endpoint of an active webhook without wake-up callbacks. Its configuration has only the fields that gates and
 * ownership code read.
 */
export function bareEndpoint(draft: BareEndpointDraft = {}): Endpoint {
  const { id = "w", owned = false, ownerEpoch, inFlight = 0, now = 0 } = draft;
  const { circuitBreaker } = standard;
  const webhook = { id, tenantId: "t", status: "active", ordering: "none", pause: null } as Webhook;
  const config = {
    webhook,
    canSign: true,
    policy: { rateLimit: null, circuitBreaker, ...draft.policy },
  } as unknown as EndpointConfig;
  const nothing = (): void => undefined;
  const endpoint = new Endpoint(
    config,
    new TenantQueue("t", nothing),
    now,
    { endpointWoke: nothing, laneWoke: nothing, tenantQueueWoke: nothing },
    owned,
  );
  if (ownerEpoch !== undefined) endpoint.acquire(ownerEpoch, null, now);
  for (let request = 0; request < inFlight; request += 1) endpoint.requestBegan();
  return endpoint;
}
