import type { Fields } from "../../../src/resources/field.ts";
import type { Specials } from "./probes.fixture.ts";

/** A resource that callers can create or update, through an API route and a library call. */
export interface Resource {
  /** Schemas of the OpenAPI document. There are several if the resource can be created and updated. */
  readonly components: readonly string[];
  readonly fields: Fields;
  readonly method: "POST" | "PUT" | "PATCH";
  path(): Promise<string>;
  call(input: object): Promise<unknown>;
  /** Fields that every call needs, by their library names. */
  readonly always: object;
  readonly specials: Specials;
}
