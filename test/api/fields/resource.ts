import type { Fields } from "../../../src/resources/field.ts";
import type { Specials } from "./probes.ts";

/** A thing that callers set, with the two ways to set it: a route of the API and a call of the library. */
export interface Resource {
  /** Of the OpenAPI document; several where a resource is made and changed. */
  readonly components: readonly string[];
  readonly fields: Fields;
  readonly method: "POST" | "PUT" | "PATCH";
  path(): Promise<string>;
  call(input: object): Promise<unknown>;
  /** What every call needs, in the words of the library. */
  readonly always: object;
  readonly specials: Specials;
}
