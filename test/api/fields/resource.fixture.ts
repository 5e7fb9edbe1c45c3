import type { Fields } from "../../../src/resources/field.ts";
import type { Specials } from "./probes.fixture.ts";

/** A resource that callers set, with both ways to set it: a route of the API and a call of the library. */
export interface Resource {
  /** Schemas of the OpenAPI document; several if a resource is created and changed. */
  readonly components: readonly string[];
  readonly fields: Fields;
  readonly method: "POST" | "PUT" | "PATCH";
  path(): Promise<string>;
  call(input: object): Promise<unknown>;
  /** Fields that every call needs, with the library's names. */
  readonly always: object;
  readonly specials: Specials;
}
