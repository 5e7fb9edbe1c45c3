import { type ErrorCode, InvalidRequestError } from "../domain/errors.ts";
import type { PortalCapability } from "../domain/scope.ts";
import type { Scope } from "../features/services.ts";
import type { Fields, InputOf } from "../resources/field.ts";
import type { Resource } from "../resources/resource.ts";
import { closed, type Schema } from "../resources/schema.ts";
import { type FiltersOf, filtersOf, inputOf, snakeCase } from "./mapping.ts";
import type { Listing, PageQuery, Pager } from "./paging.ts";
import { type Access, type Call, defineRoute, type Method, type Route } from "./route.ts";

const noFields = {} satisfies Fields;
type Row = object;
type Json = Record<string, unknown>;
type Eventual<Value> = Value | Promise<Value>;
export type PlainCall = Call<Readonly<Record<string, string>>, { readonly tenant_id?: string }>;

/** Who may call a route, and wording and errors that do not follow from the resource. */
interface Terms {
  readonly access: Access;
  readonly capability?: PortalCapability;
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  /** Description of the response. */
  readonly answer?: string;
  readonly errors?: readonly ErrorCode[];
  /** Limits of a large body. */
  readonly body?: Pick<Route, "bodyBytesMax" | "bodyBounds">;
}

/** Terms of a route other than the standard ones. */
interface ActionTerms<Taken extends Fields>
  extends Omit<Terms, "access" | "body">,
    Pick<Route, "isTest" | "answerIsSecret" | "audit" | "body" | "bodyOptional"> {
  /** Defaults to `read` for GET, otherwise to `manage`. */
  readonly access?: Access;
  readonly summary: string;
  readonly answer: string;
  /** Defaults to POST. */
  readonly method?: Method;
  /** Path below that of the resource; defaults to the verb. */
  readonly place?: string;
  /** The fields of the body. If neither this nor `body` is given, the body must be empty and may be omitted. */
  readonly takes?: Taken;
  /** Defaults to 200. */
  readonly status?: 200 | 202;
  /** Defaults to the schema of the resource. */
  readonly schema?: Schema;
}

/** Returns one resource, or throws `not_found`. `tenantId` is the tenant in the query; null if there is none. */
type Find<Found> = (scope: Scope, key: string, tenantId: string | null) => Eventual<Found>;

type ShowPage<Found> = (rows: readonly Found[], query: object) => Promise<readonly Json[]>;

/**
 * The standard routes of a resource: list, get, create, put, patch and delete, each with its audit record. The
 * definition of the resource contains the schemas; a feature adds its service and the access rules.
 */
export class PlainRoutes<Input extends Fields, Found extends Row> {
  readonly #resource: Resource<Input>;
  readonly #find: Find<Found>;
  readonly #show: (found: Found) => Eventual<Json>;
  readonly #showPage: ShowPage<Found>;

  /** `showPage` is for rows that share a query, or that show additional fields in a list. */
  constructor(
    resource: Resource<Input>,
    find: Find<Found>,
    show: (found: Found) => Eventual<Json>,
    showPage: ShowPage<Found> = (rows) => Promise.all(rows.map(async (row) => show(row))),
  ) {
    this.#resource = resource;
    this.#find = find;
    this.#show = show;
    this.#showPage = showPage;
  }

  /** A list that the service returns as a whole. `idOf` identifies a row in cursors. */
  list(
    terms: Terms,
    pager: Pager,
    rows: (scope: Scope, filters: Filters) => Eventual<readonly Found[]>,
    idOf: (row: Found) => string,
  ): Route {
    return this.pages(terms, this.#resource.filters, async (scope, filters, query, listing) => {
      const found = await rows(scope, filters);
      const page = pager.slice(found, { query, listing, idOf, toJson: (row) => row });
      return { ...page, data: await this.#showPage(page.data, query) };
    });
  }

  /** A list that the service reads page by page; `read` returns the response. */
  pages<F extends Fields>(
    terms: Terms,
    fields: F,
    read: (scope: Scope, filters: FiltersOf<F>, query: PageQuery, listing: Listing) => Eventual<object>,
  ): Route {
    const { schemas, noun, title, path, tag } = this.#resource;
    return defineRoute({
      ...rightsOf(terms),
      method: "GET",
      path,
      operationId: terms.operationId ?? `list${title}s`,
      tag,
      summary: terms.summary ?? `List ${noun}s`,
      query: schemas.listQuery,
      answers: { 200: { description: terms.answer ?? `A page of ${noun}s.`, schema: schemas.list } },
      errors: terms.errors ?? ["invalid_cursor"],
      handle: async ({ scope, query }) => {
        const filters = filtersOf(fields, query);
        const listing = { tenantId: scope.tenantId, route: `${noun}s`, filters };
        return { status: 200, body: await read(scope, filters, query, listing) };
      },
    });
  }

  get(terms: Terms): Route {
    const { schemas, noun } = this.#resource;
    return defineRoute({
      ...this.#texts("GET", "get", `Get ${withArticle(noun)}`, terms),
      answers: { 200: { description: terms.answer ?? `The ${noun}.`, schema: schemas.one } },
      errors: terms.errors ?? ["not_found"],
      handle: async (call) => ({ status: 200, body: await this.shown(call as PlainCall) }),
    });
  }

  create(terms: Terms, create: (scope: Scope, input: InputOf<Input>) => Promise<Found>): Route {
    const { schemas, noun, title, path, tag, input } = this.#resource;
    return defineRoute({
      ...rightsOf(terms),
      method: "POST",
      path,
      operationId: terms.operationId ?? `create${title}`,
      tag,
      summary: terms.summary ?? `Create ${withArticle(noun)}`,
      body: schemas.create,
      answers: { 201: { description: terms.answer ?? `The ${noun}.`, schema: schemas.one } },
      errors: terms.errors ?? [],
      audit: { action: `${this.#name}.create`, target: this.#name },
      handle: async ({ scope, body }) => {
        const created = await create(scope, inputOf(input, this.permitted(scope, body)));
        return { status: 201, body: await this.#show(created) };
      },
    });
  }

  /** `extra` returns data that the audit log needs in addition to the shown fields. */
  put(
    terms: Terms,
    put: (
      scope: Scope,
      key: string,
      input: InputOf<Input>,
      tenantId: string | null,
    ) => Promise<{ readonly row: Found; readonly created: boolean }>,
    extra: (key: string) => Json = () => ({}),
  ): Route {
    const { schemas, noun, input, key } = this.#resource;
    return defineRoute({
      ...this.#texts("PUT", "put", `Create or update ${withArticle(noun)}`, terms),
      body: schemas.create,
      answers: {
        200: { description: "Changed.", schema: schemas.one },
        201: { description: terms.answer ?? "Created.", schema: schemas.one },
      },
      errors: terms.errors ?? [],
      audit: {
        ...this.#audit("put"),
        before: async (call: PlainCall) => ({
          ...extra(call.params[key] ?? ""),
          ...(await this.shown(call)),
        }),
      },
      handle: async (call) => {
        const { scope, params, query, body } = call as PlainCall;
        const given = inputOf(input, this.permitted(scope, body));
        const { row, created } = await put(scope, params[key] ?? "", given, query?.tenant_id ?? null);
        return { status: created ? 201 : 200, body: await this.#show(row) };
      },
    });
  }

  /** PATCH, or PUT for resources whose PUT also keeps omitted fields. */
  update(
    terms: Terms,
    update: (scope: Scope, key: string, input: InputOf<Input>) => Promise<Found>,
    method: "PATCH" | "PUT" = "PATCH",
  ): Route {
    const { schemas, noun, input, key } = this.#resource;
    return defineRoute({
      ...this.#texts(method, "update", `Change ${withArticle(noun)}`, terms),
      body: schemas.update,
      answers: { 200: { description: terms.answer ?? `The updated ${noun}.`, schema: schemas.one } },
      errors: terms.errors ?? ["not_found"],
      audit: this.#auditBefore("update"),
      handle: async (call) => {
        const { scope, params, body } = call as PlainCall;
        const given = inputOf(input, this.permitted(scope, body));
        return { status: 200, body: await this.#show(await update(scope, params[key] ?? "", given)) };
      },
    });
  }

  /** `removes` names the fields whose removal the audit log records. */
  delete(
    terms: Terms,
    remove: (scope: Scope, key: string, tenantId: string | null) => Promise<void>,
    removes: readonly string[],
    verb: "delete" | "revoke" | "end" = "delete",
  ): Route {
    const { noun, key } = this.#resource;
    const summary = `${verb === "delete" ? "Delete" : "Revoke"} ${withArticle(noun)}`;
    return defineRoute({
      ...this.#texts("DELETE", verb, summary, terms),
      answers: { 204: { description: terms.answer ?? "Deleted." } },
      errors: terms.errors ?? ["not_found"],
      audit: { ...this.#audit(verb), before: this.shown, removes },
      handle: async (call) => {
        const { scope, params, query } = call as PlainCall;
        await remove(scope, params[key] ?? "", query?.tenant_id ?? null);
        return { status: 204 };
      },
    });
  }

  /** Another route of a single resource, such as `POST /v1/webhooks/{id}/pause`. */
  action<Taken extends Fields = typeof noFields>(
    verb: string,
    terms: ActionTerms<Taken>,
    act: (scope: Scope, key: string, input: InputOf<Taken>, call: PlainCall) => Eventual<object>,
  ): Route {
    const { title, path, tag, key, schemas } = this.#resource;
    const { method = "POST", place = `/${verb}`, status = 200, takes, answerIsSecret = false } = terms;
    const { access = method === "GET" ? "read" : "manage", audit = this.#auditBefore(verb) } = terms;
    const more: Rights = rightsOf({ ...terms, access, body: {} });
    if (method !== "GET" && method !== "DELETE") {
      more.body = terms.body ?? closed({});
      if (terms.body === undefined || terms.bodyOptional === true) more.bodyOptional = true;
    }
    if (method !== "GET" || terms.audit !== undefined) more.audit = audit;
    if (terms.isTest === true) more.isTest = true;
    if (answerIsSecret) more.answerIsSecret = true;
    return defineRoute({
      ...more,
      method,
      path: `${path}/{${key}}${place}`,
      operationId: terms.operationId ?? `${verb}${title}`,
      tag,
      summary: terms.summary,
      params: schemas.params,
      answers: { [status]: { description: terms.answer, schema: terms.schema ?? schemas.one } },
      errors: terms.errors ?? ["not_found"],
      handle: async (given) => {
        const call = given as PlainCall;
        const input = (takes === undefined ? {} : inputOf(takes, call.body)) as InputOf<Taken>;
        const body = await act(call.scope, call.params[key] ?? "", input, call);
        return answerIsSecret ? { status, headers: { "cache-control": "no-store" }, body } : { status, body };
      },
    });
  }

  /** The resource that a call names, as visible to the caller: the response of GET, and the state before a change. */
  readonly shown = async ({ scope, params, query }: PlainCall): Promise<Json> => {
    const key = params[this.#resource.key] ?? "";
    return this.#show(await this.#find(scope, key, query?.tenant_id ?? null));
  };

  /** Returns the body. Throws if a customer set a field that only the tenant may set. */
  permitted(scope: Scope, body: unknown): unknown {
    if (scope.portal === undefined) return body;
    const { customerFields } = this.#resource;
    const others = Object.keys(body as object).filter((name) => !customerFields.has(name));
    if (others.length === 0) return body;
    const problems = others.map((field) => ({ field, message: "cannot be set in the portal" }));
    throw new InvalidRequestError("The body is not valid.", problems);
  }

  get #name(): string {
    return snakeCase(this.#resource.title).slice(1);
  }

  #audit(verb: string) {
    const { key } = this.#resource;
    const audited = { action: `${this.#name}.${verb}`, target: this.#name };
    return key === "id" ? audited : { ...audited, idFrom: key };
  }

  #auditBefore(verb: string) {
    return { ...this.#audit(verb), before: this.shown };
  }

  #texts(method: Method, verb: string, summary: string, terms: Terms) {
    const { title, path, tag, key, schemas } = this.#resource;
    const texts = {
      ...rightsOf(terms),
      method,
      path: `${path}/{${key}}`,
      operationId: terms.operationId ?? `${verb}${title}`,
      tag,
      summary: terms.summary ?? summary,
      params: schemas.params,
    };
    return schemas.query === undefined ? texts : { ...texts, query: schemas.query };
  }
}

/** The terms that are copied into the route unchanged. */
function rightsOf({ access, capability, description, body }: Terms): Rights {
  const rights: Rights = { access, ...body };
  if (capability !== undefined) rights.capability = capability;
  if (description !== undefined) rights.description = description;
  return rights;
}

type Rights = Pick<Route, "access"> & {
  -readonly [Name in
    | "capability"
    | "description"
    | "body"
    | "bodyOptional"
    | "bodyBytesMax"
    | "bodyBounds"
    | "audit"
    | "isTest"
    | "answerIsSecret"]?: NonNullable<Route[Name]>;
};

type Filters = Readonly<Record<string, unknown>>;
function withArticle(noun: string): string {
  return /^[aeioA]/.test(noun) ? `an ${noun}` : `a ${noun}`;
}
