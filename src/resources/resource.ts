import { apiName, type Fields } from "./field.ts";
import { tenantIdField } from "./names.ts";
import {
  closed,
  listingQuery,
  listOf,
  type Schema,
  schemaOf,
  schemaOfField,
  type ShownSchema,
  shownSchemaOf,
  Type,
} from "./schema.ts";

/** The groups of routes in the API documentation. */
export const tags = {
  Events: "Publish events and follow their deliveries.",
  Webhooks: "Webhooks: where events are sent, and how.",
  Deliveries: "One event for one webhook, with every attempt.",
  Search: "Search across events, deliveries and webhooks.",
  Live: "Live updates as a stream.",
  Statistics: "Published events and deliveries over time.",
  "Dead letters": "Deliveries that failed permanently, and how to retry them.",
  Problems: "Problems of webhooks and how to fix them.",
  Operations: "Bulk actions on deliveries and their progress.",
  "Event types": "The catalogue of event types and their data schemas.",
  Tenants: "The owners of webhooks and events.",
  "API keys": "The keys that can call this API.",
  Alerts: "Conditions that need attention, and the rules that detect them.",
  Notifications: "Email and chat notifications about webhooks.",
  "Audit log": "Who changed what, and when.",
  Profiles: "The published delivery semantics.",
  "Source types": "How messages of each provider are verified, and how to set it up.",
  Gateway: "Inbound requests: verified, recorded and forwarded to webhooks.",
  Portal: "Sessions for your customers, and the appearance of the pages at `/portal`.",
  Dashboard: "Login to the dashboard at `/ui`.",
  System: "Health, metrics and documentation without a key; process settings for administrators.",
} as const;
export type Tag = keyof typeof tags;

/** The data that the standard routes and commands of a resource need. */
export interface Resource<Input extends Fields = Fields, Shown extends Fields = Fields> {
  /** Name of the resource in texts, such as `event type`. */
  readonly noun: string;
  /** Name of the resource in operation ids and schemas, such as `EventType`. */
  readonly title: string;
  /** Path of the collection, such as `/v1/event-types`. */
  readonly path: string;
  readonly tag: Tag;
  /** The path parameter that identifies one resource. */
  readonly key: string;
  readonly input: Input;
  readonly shown: Shown;
  /** The filters of the list. */
  readonly filters: Fields;
  /** API names of the input fields that portal sessions may send; only the tenant may send the others. */
  readonly customerFields: ReadonlySet<string>;
  readonly schemas: ResourceSchemas;
}

interface ResourceSchemas {
  readonly params: Schema<Readonly<Record<string, string>>>;
  /** The query of all routes except the list; undefined if the key alone identifies the resource. */
  readonly query: Schema<{ readonly tenant_id?: string }> | undefined;
  readonly create: Schema;
  readonly update: Schema;
  readonly one: Schema;
  readonly list: Schema;
  readonly listQuery: ReturnType<typeof listingQuery>;
}

type InputTexts = {
  readonly title: string;
  readonly description?: string;
  readonly examples?: readonly unknown[];
};

interface Definition<Input extends Fields, Shown extends Fields> {
  readonly noun: string;
  readonly title: string;
  readonly path: string;
  readonly tag: Tag;
  /** Schema of the path parameter `id`, or the name and schema of a different parameter. */
  readonly key: Schema | readonly [name: string, schema: Schema];
  readonly input: Input;
  readonly shown: Shown;
  readonly filters?: Fields;
  /** Library names of the input fields that customers may set in the portal. */
  readonly customerFields?: readonly (keyof Input & string)[];
  /** The key is unique only within a tenant, so every route has the parameter `tenant_id`. */
  readonly isPerTenant?: boolean;
  /** Titles and examples of the input. `update` defaults to `create`. */
  readonly create?: InputTexts;
  readonly update?: InputTexts;
  /** Hand-written schemas, which replace the derived ones. */
  readonly schemas?: Partial<ResourceSchemas>;
}

/** Adds the parts that can be derived from the definition. */
export function defineResource<Input extends Fields, Shown extends Fields>(
  definition: Definition<Input, Shown>,
): Resource<Input, Shown> & { readonly schemas: { readonly one: ShownSchema<Shown> } } {
  const { noun, title, path, tag, input, shown, filters = {}, customerFields = [] } = definition;
  const create = definition.create ?? { title: `${title}Input` };
  const [key, keySchema] = isNamed(definition.key) ? definition.key : ["id", definition.key];
  const one = shownSchemaOf(shown, { title });
  const tenantId = Type.Optional(Type.Unsafe<string>(schemaOfField(tenantIdField)));
  const schemas: ResourceSchemas = {
    params: closed({ [key]: keySchema }) as ResourceSchemas["params"],
    query: definition.isPerTenant === true ? closed({ tenant_id: tenantId }) : undefined,
    create: schemaOf(input, create),
    update: schemaOf(input, { use: "update", ...(definition.update ?? create) }),
    one,
    list: listOf(one, `${title}List`),
    listQuery: listingQuery(filters),
    ...definition.schemas,
  };
  const customers = new Set(customerFields.map((name) => apiName(name, input[name] ?? { api: null })));
  const typed = schemas as ResourceSchemas & { readonly one: ShownSchema<Shown> };
  return { noun, title, path, tag, key, input, shown, filters, customerFields: customers, schemas: typed };
}

function isNamed(key: Schema | readonly [string, Schema]): key is readonly [string, Schema] {
  return Array.isArray(key);
}

/**
 * Flags of the options that set fields, in the order of the help, and a help text if the description of the field does
 * not fit. Flags without a value, such as `--deprecated`, are for fields of the kind `flag`.
 */
export type OptionTable<F extends Fields> = {
  readonly [Name in keyof F]?: string | readonly [flags: string, help: string];
};

/** Columns of a table by title: a shown field, or a function that selects what to show from a row of the API. */
export type ColumnTable<Shown extends Fields> = Readonly<
  Record<string, (keyof Shown & string) | ((row: Readonly<Record<string, unknown>>) => unknown)>
>;
