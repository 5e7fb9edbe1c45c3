import { defaultWorkerPool, type Tenant } from "../../ports/store/registry.ts";

/** A tenant as it was saved, also by a version that knew no pools of workers. */
export function toTenant(document: string): Tenant {
  return { workerPool: defaultWorkerPool, ...(JSON.parse(document) as Omit<Tenant, "workerPool">) };
}
