/** The calls of the API as functions, typed by operationId. */
import type { ApiCalls } from "./api-types.ts";
import type { CallContent, Caller, CallOptions } from "./caller.ts";
import { type Page, Pages } from "./pages.ts";

type CallName = keyof ApiCalls;
type Answer<Name extends CallName> = ApiCalls[Name]["answer"];
type Query<Name extends CallName> = ApiCalls[Name] extends { query: infer Asked } ? Asked : never;
type Body<Name extends CallName> = ApiCalls[Name] extends { body: infer Given } ? Given : never;
type ListCall = { [Name in CallName]: Answer<Name> extends Page<unknown> ? Name : never }[CallName];
type Row<Name extends ListCall> = Answer<Name>["data"][number];

/** Options of calls that also have query parameters. */
type Options<Name extends CallName> = CallOptions &
  (ApiCalls[Name] extends { query: infer Asked } ? { readonly query?: Asked & object } : object);
/** A body without required members may be omitted. */
type Sent<Name extends CallName> =
  Partial<Body<Name>> extends Body<Name>
    ? [body?: Body<Name>, options?: Options<Name>]
    : [body: Body<Name>, options?: Options<Name>];

type ListAsked<Name extends CallName> = Omit<Query<Name>, "cursor">;

/** Fills in `/v1/events/{id}`. The id may be any text that does not lead to another path. */
export function pathTo(template: string, ...ids: readonly (string | number)[]): string {
  let next = 0;
  return template.replaceAll(/\{\w+\}/g, () => {
    const id = String(ids[next++] ?? "");
    if (["", ".", ".."].includes(id)) throw new TypeError(`"${id}" is not a valid id for ${template}`);
    return encodeURIComponent(id);
  });
}

/** Functions for one caller; each is defined by method and path, such as `GET /v1/events/{id}`. */
export function callsOf(caller: Caller) {
  const call = <Name extends CallName>(
    route: string,
    { ids = [], ...request }: CallContent & CallOptions & { readonly ids?: readonly string[] },
  ): Promise<Answer<Name>> => {
    const [method = "", template = ""] = route.split(" ");
    return caller.call(method, { ...request, path: pathTo(template, ...ids) });
  };
  const pages = <Name extends ListCall>(path: string, query?: object, options?: CallOptions) =>
    new Pages<Row<Name>, Answer<Name> & Page<Row<Name>>>((cursor) =>
      caller.call("GET", { ...options, path, query: cursor === undefined ? query : { ...query, cursor } }),
    );

  return {
    list:
      <Name extends ListCall>(path: string) =>
      (query?: ListAsked<Name>, options?: CallOptions) =>
        pages<Name>(path, query, options),
    listOf:
      <Name extends ListCall>(template: string) =>
      (id: string, query?: ListAsked<Name>, options?: CallOptions) =>
        pages<Name>(pathTo(template, id), query, options),
    one:
      <Name extends CallName>(route: string) =>
      (id: string, options?: Options<Name>) =>
        call<Name>(route, { ...options, ids: [id] }),
    send:
      <Name extends CallName>(route: string) =>
      (...[body, options]: Sent<Name>) =>
        call<Name>(route, { ...options, body: body ?? {} }),
    sendTo:
      <Name extends CallName>(route: string) =>
      (id: string, ...[body, options]: Sent<Name>) =>
        call<Name>(route, { ...options, ids: [id], body: body ?? {} }),
  };
}
