/** Renders the OpenAPI document as a page. */
import type { JsonObject } from "../openapi.ts";
import { html, page, prose } from "./html.ts";
import type { Html } from "./html.ts";
import type { TriedOperation } from "./try-it.ts";

interface Document {
  readonly info: { readonly title: string; readonly summary: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly description?: string; readonly content: Content };
  readonly responses: Readonly<Record<string, Response>>;
  readonly "x-roles"?: readonly string[];
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
}

interface Response {
  readonly description: string;
  readonly content?: Content;
}

/** By media type; raw bytes have no schema. */
type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly examples?: readonly unknown[];
}

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

export function createDocsPage(openApi: JsonObject): string {
  // We generate this document, so its shape is known.
  const document = openApi as unknown as Document;
  const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]): Entry => ({ method: method.toUpperCase(), path, operation }),
    ),
  );
  const sections = document.tags.map((tag) => {
    const own = entries.filter(({ operation }) => operation.tags.includes(tag.name));
    return html`<h2 id="${anchor(tag.name)}">${tag.name}</h2><p>${prose(tag.description)}</p>${own.map((entry) => describeEntry(entry, document))}`;
  });
  const { info } = document;
  return page(
    `${info.title} API`,
    html`<h1>${info.title} API</h1><p>${info.summary} ${info.description}</p>
<p>Send <code>Authorization: Bearer KEY</code> with everything under <code>/v1</code>. See also
<a href="docs/errors">errors</a>, <a href="docs/idempotency">Idempotency-Key</a> and <a href="openapi.json">openapi.json</a>.</p>
<p><label class="try-field"><span>API key for “Try it” (kept only in this field; leave empty to use your dashboard session)</span>
<input id="try-key" type="password" autocomplete="off" spellcheck="false"></label></p>
<nav><ul>${document.tags.map(({ name }) => html`<li><a href="#${anchor(name)}">${name}</a></li>`)}<li><a href="#schemas">Schemas</a></li></ul></nav>
${sections}<h2 id="schemas">Schemas</h2>${Object.entries(document.components.schemas).map(describeSchema)}`,
    { canTry: true },
  );
}

/** Input for the script of the page. */
function triedOf({ method, path, operation }: Entry, { components }: Document): TriedOperation {
  const parameters = operation.parameters ?? [];
  return {
    method,
    path,
    parameters: parameters.map(({ name, in: place, required }) => ({ name, in: place, required })),
    body: operation.requestBody === undefined ? null : exampleOf(operation.requestBody.content, components),
  };
}

function exampleOf(content: Content, { schemas }: Document["components"]): string | null {
  const schema = content["application/json"]?.schema;
  if (schema === undefined) return null;
  const named = schema.$ref === undefined ? schema : schemas[schema.$ref.split("/").at(-1) ?? ""];
  return JSON.stringify(named?.examples?.[0] ?? {}, null, 2);
}

function describeEntry(entry: Entry, document: Document): Html {
  const { method, path, operation } = entry;
  const roles = operation["x-roles"];
  return html`<h3 id="${operation.operationId}"><span class="method">${method}</span> <code>${path}</code></h3>
<p>${prose(`${operation.summary}. ${operation.description ?? ""}`)}
<span class="soft">${roles === undefined ? "No key needed." : `Keys: ${roles.join(", ")}.`}</span></p>
${describeParameters(operation.parameters ?? [])}
${operation.requestBody === undefined ? null : describeBody(operation.requestBody)}
<h4>Responses</h4><div class="scroll"><table>${Object.entries(operation.responses).map(describeResponse)}</table></div>
<div data-try="${JSON.stringify(triedOf(entry, document))}"></div>`;
}

function describeBody({ description, content }: NonNullable<Operation["requestBody"]>): Html {
  return html`<h4>Body</h4><p>${describeContent(content)}</p>${description === undefined ? null : html`<p>${prose(description)}</p>`}`;
}

function describeParameters(parameters: readonly Parameter[]): Html | null {
  if (parameters.length === 0) return null;
  const rows = parameters.map(
    (parameter) => html`<tr><td><code>${parameter.name}</code></td><td class="soft">${parameter.in}</td>
<td>${prose(parameter.description ?? "")}</td></tr>`,
  );
  return html`<h4>Parameters</h4><div class="scroll"><table>${rows}</table></div>`;
}

function describeResponse([status, { description, content }]: readonly [string, Response]): Html {
  return html`<tr><td><code>${status}</code></td><td>${prose(description)}</td><td>${describeContent(content ?? {})}</td></tr>`;
}

function describeContent(content: Content): readonly Html[] {
  return Object.values(content).map(
    ({ schema }, index) =>
      html`${index > 0 ? " or " : null}${schema === undefined ? "bytes of any media type" : describeType(schema)}`,
  );
}

function describeSchema([name, schema]: readonly [string, Schema]): Html {
  const example = schema.examples?.[0];
  const required = new Set(schema.required);
  const rows = Object.entries(schema.properties ?? {}).map(
    ([property, inner]) => html`<tr><td><code>${property}</code></td><td>${describeType(inner)}</td>
<td class="soft">${required.has(property) ? "required" : null}</td><td>${prose(inner.description ?? "")}</td></tr>`,
  );
  return html`<h3 id="schema-${name}">${name}</h3><p>${prose(schema.description ?? "")}</p>
<div class="scroll"><table>${rows}</table></div>
${example === undefined ? null : html`<details><summary>Example</summary><pre><code>${JSON.stringify(example, null, 2)}</code></pre></details>`}`;
}

function describeType(schema: Schema): Html {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1) ?? "";
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  if (schema.items !== undefined) return html`list of ${describeType(schema.items)}`;
  if (schema.anyOf !== undefined)
    return html`${schema.anyOf.map((branch, index) => [index > 0 ? " or " : "", describeType(branch)])}`;
  if (schema.enum !== undefined)
    return html`${schema.enum.map((value, index) => [index > 0 ? " " : "", html`<code>${String(value)}</code>`])}`;
  return html`${[schema.type ?? "any"].flat().join(" or ")}`;
}

function anchor(name: string): string {
  return name.toLowerCase().replaceAll(" ", "-");
}
