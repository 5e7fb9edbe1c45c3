import { type ErrorCode, errorTable } from "../../domain/errors.ts";
import { answerKeptMs, claimKeptMs } from "../idempotency.ts";
import type { JsonObject } from "../openapi.ts";
import { html, type Html, page, prose, type TriedOperation } from "./html.ts";

/** Renders the OpenAPI document as a page. */

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

/** Keyed by media type; raw bytes have no schema. */
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
    true,
  );
}

/** Collects the input that the script on the page needs for an operation. */
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

/** Advice per error code. Complete by construction: adding a code without advice is a compile error. */
const advice: Readonly<Record<ErrorCode, string>> = {
  invalid_request:
    "Correct the fields that `errors` lists. Unknown fields are errors too, so that a misspelled one is not ignored.",
  malformed_json: "Send UTF-8 encoded JSON.",
  schema_violation: "`errors` lists where `data` does not match the schema of GET /v1/event-types/{name}.",
  invalid_cursor:
    "A cursor continues only the listing that it came from, with the same filters and key. Start again without one.",
  idempotency_key_malformed: "Send a quoted string of 1 to 255 printable ASCII characters.",
  unauthenticated: "Send `Authorization: Bearer KEY` with a key that is neither expired nor revoked.",
  forbidden: "Use a key with one of the roles that `detail` names, or a key of the tenant.",
  not_found: "The resource does not exist, was deleted, or belongs to another tenant.",
  method_not_allowed: "The `Allow` header names the methods of this path.",
  conflict: "`detail` names the conflict. Read the resource again and decide whether to retry.",
  event_in_progress: "Retry after a moment; the response will be that of the first request.",
  idempotency_key_in_progress: "Retry after the time in `Retry-After`; no correction is needed.",
  delivery_in_flight: "An attempt is in flight. Wait for its result.",
  rotation_in_progress: "Wait until the old secret expires, or send `force`.",
  secret_in_use: "Every webhook needs its own secret. Omit the secret to have one generated.",
  payload_gone: "The payload was removed by retention and cannot be sent again.",
  payload_too_large: "`detail` names the limit. Put large data elsewhere and send a link.",
  unsupported_media_type: "Send `Content-Type: application/json` without Content-Encoding.",
  event_key_reused:
    "The `idempotency_key` of the event belongs to a different event; `event_id` names it. Use a new key.",
  idempotency_key_reused: "A key belongs to one request. Use a new one for a new request.",
  rate_limited: "Slow down; `Retry-After` says for how long.",
  acknowledgement_required:
    "Read GET /service-description, have an administrator acknowledge its version, then change the mode of the source.",
  verification_failed:
    "`detail` contains the receiver's response. No change was made. Fix the receiver and retry.",
  limit_reached:
    "`detail` names the limit. Free capacity, or ask an administrator whether the limit can be raised.",
  internal_error: "This is a server error. Retry with the same Idempotency-Key; the log has the details.",
  unavailable: "Nothing was accepted. Retry after the time in `Retry-After`.",
};

export function createErrorsPage(): string {
  const codes = Object.keys(errorTable) as ErrorCode[];
  const rows = codes.map((code) => {
    const { status, title } = errorTable[code];
    return html`<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${title}.</td><td>${prose(advice[code])}</td></tr>`;
  });
  return page(
    "Errors of the Posthorn API",
    html`<h1>Errors</h1>
<p>Errors are <a href="https://www.rfc-editor.org/rfc/rfc9457">problem details</a> (<code>application/problem+json</code>).
Distinguish them by <code>code</code>, which never changes. <code>errors</code> lists up to 50
invalid fields and never repeats a value.</p>
<div class="scroll"><table><thead><tr><th>Code</th><th>Status</th><th>Meaning</th><th>What to do</th></tr></thead>
<tbody>${rows}</tbody></table></div><p><a href="../docs">API reference</a></p>`,
  );
}

/** The published idempotency specification (IDK-7, IDK-13, IDK-28). */
export function createIdempotencyPage(): string {
  return page(
    "Idempotency-Key in the Posthorn API",
    html`<h1>Idempotency-Key</h1>
<p>Every <code>POST</code> may carry an <code>Idempotency-Key</code>. Requests that repeat a key run only once: a repeat
gets the response of the first request, with <code>Idempotency-Replayed: true</code>.</p>
<pre><code>Idempotency-Key: "8e03978e-40d5-43e8-bc93-6894a57f9324"</code></pre>
<h2>Format</h2>
<p>A structured-field string (RFC 8941): 1 to 255 characters of printable ASCII in double quotes, with <code>"</code> and
<code>\\</code> escaped by a backslash. Use a UUID or another random value. A bare value of letters, digits and
<code>. _ ~ : / + = -</code> is read as the same string. Any other value is refused.</p>
<h2>Scope</h2>
<p>A key belongs to the API key and the route it was sent with. It cannot collide with the keys of other callers.</p>
<h2>The same request</h2>
<p>Two requests are the same if method, path, query and the bytes of the body are equal. Their SHA-256 is stored with the
key.</p>
<h2>Expiry</h2>
<p>A response is kept for ${answerKeptMs / 3_600_000} hours. If the server is interrupted before it responds, the key can be used again
within ${claimKeptMs / 1_000} seconds, on SQLite at the next start.</p>
<h2>Which responses are kept</h2>
<p>Responses that a repeat would not change: successes, and refusals such as 404 or 422. 409, 429 and all 5xx are not kept,
so a repeat runs again. A request that is refused before it runs (400 for a bad body, 401, 403, 413, 415) does not use up
its key. Responses that contain a secret are stored encrypted.</p>
<h2>Errors</h2>
<div class="scroll"><table>
<tr><td>400</td><td><code>idempotency_key_malformed</code></td><td>The header is not in the format above.</td></tr>
<tr><td>409</td><td><code>idempotency_key_in_progress</code></td><td>The first request is still running. Retry after <code>Retry-After</code>.</td></tr>
<tr><td>422</td><td><code>idempotency_key_reused</code></td><td>The key was used for a different request. Use a new one.</td></tr>
</table></div>
<h2>Idempotency keys of events</h2>
<p>The field <code>idempotency_key</code> of an event is part of the event. It is kept per tenant for 24 hours and works
across routes, batches and API keys. Use it for publishing; the header is then unnecessary. It also covers a case that the
header does not: if the server dies after committing a request and before storing the response, a repeat with only the
header runs a second time.</p>
<p><a href="../docs">API reference</a></p>`,
  );
}
