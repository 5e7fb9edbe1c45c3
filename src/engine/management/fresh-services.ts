import type { EngineAccess } from "../engine-access.ts";
import type { DeliveryView, Services } from "../services.ts";

type Refreshing = Pick<EngineAccess, "refresh">;

/**
 * The services of one of several processes: what a call names is read from the store first, because another process may
 * have changed it a moment ago, and only its owner knows what its endpoint does.
 */
export function createFreshServices(services: Services, access: Refreshing): Services {
  return {
    ...services,
    events: freshEvents(services, access),
    webhooks: freshWebhooks(services.webhooks, access),
    deliveries: freshDeliveries(services.deliveries, access),
    deadLetters: services.deadLetters,
    eventTypes: services.eventTypes,
    tenants: services.tenants,
    apiKeys: services.apiKeys,
  };
}

function freshWebhooks(webhooks: Services["webhooks"], access: Refreshing): Services["webhooks"] {
  const first = async <Result>(id: string, work: () => Promise<Result>): Promise<Result> => {
    await access.refresh([id]);
    return work();
  };
  return {
    create: (scope, input) => webhooks.create(scope, input),
    list: (scope, query) => webhooks.list(scope, query),
    get: (scope, id) => first(id, () => webhooks.get(scope, id)),
    update: (scope, command) => first(command.id, () => webhooks.update(scope, command)),
    delete: (scope, id) => first(id, () => webhooks.delete(scope, id)),
    enable: (scope, id) => first(id, () => webhooks.enable(scope, id)),
    resume: (scope, id) => first(id, () => webhooks.resume(scope, id)),
    disable: (scope, id) => first(id, () => webhooks.disable(scope, id)),
    health: (scope, id) => first(id, () => webhooks.health(scope, id)),
    circuit: (scope, command) => first(command.id, () => webhooks.circuit(scope, command)),
    secret: (scope, id) => first(id, () => webhooks.secret(scope, id)),
    rotateSecret: (scope, command) => first(command.id, () => webhooks.rotateSecret(scope, command)),
    publicKey: (scope, id) => first(id, () => webhooks.publicKey(scope, id)),
    verify: (scope, id) => first(id, () => webhooks.verify(scope, id)),
    confirmVerification: (command) => first(command.id, () => webhooks.confirmVerification(command)),
    reportIncident: (scope, command) => first(command.id, () => webhooks.reportIncident(scope, command)),
    test: (scope, command) => first(command.id, () => webhooks.test(scope, command)),
    recover: (scope, command) => first(command.id, () => webhooks.recover(scope, command)),
  };
}

function freshDeliveries(deliveries: Services["deliveries"], access: Refreshing): Services["deliveries"] {
  return {
    get: async (scope, id) => {
      const { view } = await deliveries.get(scope, id);
      await access.refresh(waiting([view]));
      return deliveries.get(scope, id);
    },
    list: async (scope, query) => {
      await access.refresh([query.webhookId]);
      return deliveries.list(scope, query);
    },
    retry: async (scope, command) => {
      await access.refresh([command.webhookId]);
      return deliveries.retry(scope, command);
    },
  };
}

function freshEvents({ events }: Services, access: Refreshing): Services["events"] {
  return {
    publish: (scope, input) => events.publish(scope, input),
    publishMany: (scope, inputs) => events.publishMany(scope, inputs),
    get: (scope, id) => events.get(scope, id),
    list: (scope, query) => events.list(scope, query),
    replay: (scope, command) => events.replay(scope, command),
    deliveries: async (scope, query) => {
      const { rows } = await events.deliveries(scope, query);
      await access.refresh(waiting(rows));
      return events.deliveries(scope, query);
    },
  };
}

/** Webhooks whose endpoint decides what is shown. */
function waiting(views: readonly DeliveryView[]): readonly string[] {
  const open = views.filter(({ waitingFor }) => waitingFor !== null);
  return [...new Set(open.map(({ delivery }) => delivery.webhookId))];
}
