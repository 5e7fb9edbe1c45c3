import { InvalidRequestError, NotFoundError, PosthornError } from "../domain/errors.ts";
import type { EngineAccess } from "../engine/engine-access.ts";
import type { LiveWebhook } from "../engine/endpoint/endpoint-config.ts";
import type { BatchOperation } from "../ports/store/operations.ts";
import type { Scope } from "./services.ts";
import { defaultTenantId, type TenantDirectory } from "./tenants/tenant-service.ts";

/** Whether the caller may see resources of this tenant. For a caller, resources of other tenants do not exist. */
export function isVisible(scope: Scope, tenantId: string | null): boolean {
  return scope.tenantId === null || scope.tenantId === tenantId;
}

/** Whether a session may access resources of this webhook. Does not check the tenant. */
export function seesWebhook({ portal }: Scope, id: string): boolean {
  return portal === undefined || portal.webhookIds === null || portal.webhookIds.has(id);
}

/**
 * Whether the caller may see an operation. Portal sessions see only recovery operations of webhooks that they may
 * access.
 */
export function seesOperation(
  scope: Scope,
  { kind, selection }: Pick<BatchOperation, "kind" | "selection">,
): boolean {
  if (scope.portal === undefined) return true;
  if (kind !== "recover" || selection.kind !== "deliveries") return false;
  return selection.webhookIds?.every((id) => seesWebhook(scope, id)) === true;
}

/**
 * The requested webhooks that the caller may see. If the request is null, all webhooks are requested; a result of null
 * means all webhooks. Throws `not_found` if the caller may see none of the requested webhooks.
 */
export function seenWebhooks(
  { portal }: Scope,
  asked: readonly string[] | null | undefined,
): readonly string[] | null {
  const own = portal?.webhookIds ?? null;
  if (own === null) return asked ?? null;
  const seen =
    asked === null || asked === undefined || asked.length === 0
      ? [...own]
      : asked.filter((id) => own.has(id));
  if (seen.length === 0) throw new NotFoundError("the webhook");
  return seen;
}

/** Requires access to all webhooks of the tenant. Throws `forbidden` for a session that is limited to some of them. */
export function requireWholeTenant({ portal }: Scope): void {
  if ((portal?.webhookIds ?? null) === null) return;
  throw new PosthornError("forbidden", "this session is limited to some webhooks and cannot create others");
}

/** Returns the webhook. The error is the same whether the webhook does not exist or belongs to another tenant. */
export function requireWebhook(access: Pick<EngineAccess, "webhook">, scope: Scope, id: string): LiveWebhook {
  const live = access.webhook(id);
  const isSeen = live !== undefined && isVisible(scope, live.webhook.tenantId);
  if (!isSeen || !seesWebhook(scope, id)) throw new NotFoundError("the webhook");
  return live;
}

/** The tenant of a request: the given one, the caller's own, or `default` for an administrator. */
export function resolveTenant(
  tenants: Pick<TenantDirectory, "has">,
  scope: Scope,
  asked: string | null,
): string {
  const tenantId = asked ?? scope.tenantId ?? defaultTenantId;
  if (scope.tenantId !== null && tenantId !== scope.tenantId) {
    throw invalidTenant("is not the tenant of this API key");
  }
  if (!tenants.has(tenantId)) throw invalidTenant("does not exist; create it with PUT /v1/tenants/{id}");
  return tenantId;
}

/** Limits a listing to what the caller may see; null means no limit. */
export function tenantFilter(scope: Scope, tenantId: string | null): string | null {
  if (scope.tenantId !== null && tenantId !== null && tenantId !== scope.tenantId) {
    throw invalidTenant("is not the tenant of this API key");
  }
  return scope.tenantId ?? tenantId;
}

function invalidTenant(message: string): InvalidRequestError {
  return new InvalidRequestError(`tenant_id ${message}`, [{ field: "tenant_id", message }]);
}
