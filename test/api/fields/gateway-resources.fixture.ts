import type { RunningPosthorn } from "../../../src/app/posthorn.ts";
import {
  connectionChangeFields,
  filterEvaluationFields,
  type FilterEvaluationInput,
} from "../../../src/resources/connection.ts";
import { sourceAcknowledgeFields, sourceFields, sourceRotateFields } from "../../../src/resources/source.ts";
import type { Resource } from "./resource.fixture.ts";

/** A source and a connection that are updated repeatedly, because their number is limited. */
export async function gatewayResources(
  { gateway }: RunningPosthorn,
  webhookId: string,
): Promise<readonly Resource[]> {
  const admin = { tenantId: null };
  const verification = { type: "none" };
  const { source } = (await gateway.sources.create(admin, { name: "probe", verification })).view;
  const { id } = source;
  const { version } = gateway.description();
  await gateway.sources.acknowledge(admin, id, version, "probe");
  const connection = await gateway.connections.create(admin, { sourceId: id, webhookId });
  const fixed = (path: string) => () => Promise.resolve(path);
  return [
    {
      components: ["SourceUpdate", "SourceCreate"],
      fields: sourceFields,
      method: "PATCH",
      path: fixed(`/v1/sources/${id}`),
      call: (input) => gateway.sources.update(admin, id, input),
      always: {},
      specials: {
        "tenantId": { accepted: [] },
        "verification": {
          accepted: [verification, { type: "bearer", secrets: ["a".repeat(8)] }, verification],
        },
        "statusOverrides": { accepted: [{}, { 410: 410, timeout: 503 }] },
        "keyPointers": { accepted: [["/id"], ["/a/b", "/c"]] },
        "eventType.pointer": { accepted: ["/type"] },
        "eventType.path": { accepted: [true] },
        "eventType.allowUnsigned": { accepted: [] },
        "customResponse.contentType": { accepted: ["text/plain", "text/plain; charset=utf-8"] },
      },
    },
    {
      components: ["SourceRotateInput"],
      fields: sourceRotateFields,
      method: "POST",
      path: fixed(`/v1/sources/${id}/address/rotate`),
      call: (input) => gateway.sources.rotate(admin, id, input),
      always: {},
      specials: {},
    },
    {
      components: ["SourceAcknowledge"],
      fields: sourceAcknowledgeFields,
      method: "POST",
      path: fixed(`/v1/sources/${id}/acknowledge`),
      call: (input) =>
        gateway.sources.acknowledge(admin, id, (input as { version: string }).version, "probe"),
      always: { version },
      specials: { version: { accepted: [version] } },
    },
    {
      components: ["ConnectionUpdate"],
      fields: connectionChangeFields,
      method: "PATCH",
      path: fixed(`/v1/connections/${connection.id}`),
      call: (input) => gateway.connections.update(admin, connection.id, input),
      always: {},
      specials: {
        "filter": { accepted: [{ body: { a: 1 } }] },
        "deduplicate.includeFields": { accepted: [["/id"], ["/a/b", "/c"]] },
        "deduplicate.excludeFields": { accepted: [["/id"]] },
        "retryDelaysMs": { accepted: [[0], [1_000, 2_000]] },
      },
    },
    {
      components: ["FilterEvaluationInput"],
      fields: filterEvaluationFields,
      method: "POST",
      path: fixed("/v1/filters/evaluate"),
      call: (input) => gateway.filters.evaluate(admin, input as FilterEvaluationInput),
      always: { filter: {} },
      specials: {
        filter: { accepted: [{ body: { a: 1 } }], beside: () => ({ message: {} }) },
        // Before the first request is received, no value can be accepted.
        requestId: { accepted: [] },
        sourceId: { accepted: [id] },
        last: { beside: () => ({ sourceId: id }) },
      },
    },
  ];
}
