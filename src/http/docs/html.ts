import { createHash } from "node:crypto";
import type { Answer } from "../route.ts";

/** The "Try it" forms of the API reference. Each is built when it is opened. Runs in the browser, without a library. */

/** The input of one operation's form. */
export interface TriedOperation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
  }[];
  /** Initial JSON body; null if the operation takes no JSON. */
  readonly body: string | null;
}

/**
 * The API key is kept only in a field of the page; without one, the dashboard session is used. Responses are shown as
 * text, up to a limit; streams are shown for a few seconds.
 */
const tryItScript = `"use strict";
const root = new URL(".", location.href);
const shownMax = 200000;
const waitMsMax = 10000;

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function field(label, input) {
  return element("label", { className: "try-field" }, element("span", { textContent: label }), input);
}

for (const place of document.querySelectorAll("[data-try]")) {
  const operation = JSON.parse(place.dataset.try);
  const details = element("details", { className: "try" }, element("summary", { textContent: "Try it" }));
  details.addEventListener("toggle", () => details.append(formOf(operation)), { once: true });
  place.replaceWith(details);
}

function formOf(operation) {
  const fields = operation.parameters.map((parameter) => {
    const input = element("input", { required: parameter.required, autocomplete: "off", spellcheck: false });
    return { parameter, input, row: field(parameter.name + (parameter.required ? " (required)" : ""), input) };
  });
  const body = operation.body === null ? null : element("textarea", { value: operation.body, rows: 8, spellcheck: false });
  const send = element("button", { type: "submit", textContent: "Send" });
  const answer = element("pre", { hidden: true, tabIndex: 0 });
  answer.setAttribute("role", "status");
  const form = element("form", {}, ...fields.map(({ row }) => row), ...(body === null ? [] : [field("Body (JSON)", body)]), send, answer);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send.disabled = true;
    answer.hidden = false;
    answer.textContent = "…";
    call(operation, fields, body)
      .then((text) => { answer.textContent = text; }, (error) => { answer.textContent = "No response: " + error.message; })
      .finally(() => { send.disabled = false; });
  });
  return form;
}

async function call(operation, fields, body) {
  const given = fields.filter(({ input }) => input.value !== "");
  let path = operation.path.slice(1);
  for (const { parameter, input } of given) {
    if (parameter.in === "path") path = path.replace("{" + parameter.name + "}", encodeURIComponent(input.value));
  }
  const url = new URL(path, root);
  const headers = {};
  for (const { parameter, input } of given) {
    if (parameter.in === "query") for (const value of input.value.split(/\\s*,\\s*/)) url.searchParams.append(parameter.name, value);
    if (parameter.in === "header") headers[parameter.name] = input.value;
  }
  const key = document.querySelector("#try-key").value.trim();
  if (key === "") headers["x-posthorn-ui"] = "1";
  else headers.authorization = "Bearer " + key;
  const hasBody = body !== null && body.value.trim() !== "" && operation.method !== "GET";
  if (hasBody) headers["content-type"] = "application/json";
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), waitMsMax);
  const begun = performance.now();
  try {
    const response = await fetch(url, { method: operation.method, headers, signal: stop.signal, cache: "no-store", credentials: key === "" ? "same-origin" : "omit", ...(hasBody && { body: body.value }) });
    const head = response.status + " " + response.statusText + ", " + Math.round(performance.now() - begun) + " ms\\n" + operation.method + " " + url.pathname + url.search + "\\n\\n";
    return head + laidOut(await beginningOf(response));
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}

async function beginningOf(response) {
  if (response.body === null) return "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      text += read.value;
      if (text.length > shownMax) return text.slice(0, shownMax) + "\\n… truncated";
    }
  } catch {
    text += "\\n… truncated after ten seconds";
  }
  return text;
}

/** Pretty-prints JSON, unless parsing it would lose digits. */
function laidOut(text) {
  try {
    const value = JSON.parse(text);
    return JSON.stringify(value) === text ? JSON.stringify(value, null, 2) : text;
  } catch {
    return text;
  }
}
`;

// Static pages without external resources. The policy lists the hashes of the inline style and of the one inline
// script.

/** Text that is already HTML; `html` escapes all other values. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | null | readonly Part[];

/** Template tag that escapes every value. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(
    strings.map((text, index) => text + (index < parts.length ? toHtml(parts[index] ?? null) : "")).join(""),
  );
}

function toHtml(part: Part): string {
  if (part === null) return "";
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map(toHtml).join("");
  return String(part).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Escapes text and renders `code` in back-ticks. */
export function prose(text: string): Html {
  const parts = text
    .split("`")
    .map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
  return html`${parts}`;
}

const style = `
:root{color-scheme:light dark;--text:#1b1f24;--soft:#59636e;--line:#d8dee4;--panel:#f6f8fa;--link:#0b5cad;--back:#fff}
@media(prefers-color-scheme:dark){:root{--text:#e6e9ec;--soft:#9aa4af;--line:#343b44;--panel:#1a1f26;--link:#78b4f5;--back:#0f1318}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2rem 1.25rem 6rem;max-width:64rem;background:var(--back);color:var(--text);font:16px/1.55 system-ui,sans-serif}
h1{font-size:1.8rem;margin:0 0 .5rem}h2{margin:2.5rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--line);font-size:1.35rem}
h3{margin:1.75rem 0 .25rem;font-size:1.02rem}h4{margin:1rem 0 .25rem;font-size:.9rem}
a{color:var(--link)}p,li{max-width:46rem}nav ul{columns:16rem;padding-left:1.1rem}
code,pre{font:.86rem/1.5 ui-monospace,monospace}code{background:var(--panel);padding:.1em .3em;border-radius:4px;overflow-wrap:anywhere}
pre{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:.75rem;overflow:auto}pre code{padding:0;background:none}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{text-align:left;vertical-align:top;padding:.4rem .6rem .4rem 0;border-bottom:1px solid var(--line)}
th{color:var(--soft);font-weight:600}.method{display:inline-block;min-width:4.2rem;font-weight:700}.soft{color:var(--soft)}
td:first-child>code{overflow-wrap:normal;white-space:nowrap}
.try form{display:grid;gap:.5rem;margin:.5rem 0}.try-field{display:grid;gap:.1rem;max-width:34rem}.try-field span{color:var(--soft);font-size:.86rem}
input,textarea,button{font:inherit;color:inherit;background:var(--back);border:1px solid var(--soft);border-radius:6px;padding:.3rem .6rem}
textarea{font:.86rem/1.5 ui-monospace,monospace}button{justify-self:start;cursor:pointer}.try pre{max-height:26rem;white-space:pre-wrap;overflow-wrap:anywhere}
details{margin:.4rem 0}summary{cursor:pointer;color:var(--soft)}
`;

const styleHash = createHash("sha256").update(style).digest("base64");

export const contentSecurityPolicy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

const scriptHash = createHash("sha256").update(tryItScript).digest("base64");

/** Content security policy of the page that can call this server. */
const tryingPolicy = `${contentSecurityPolicy}; script-src 'sha256-${scriptHash}'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'`;

export function page(title: string, body: Html, canTry = false): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>${new Html(style)}</style></head>
<body>${body}${canTry ? html`<script type="module">${new Html(tryItScript)}</script>` : null}</body></html>
`.text;
}

export function htmlAnswer(text: string, canTry = false): Answer {
  return {
    status: 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-language": "en",
      "content-security-policy": canTry ? tryingPolicy : contentSecurityPolicy,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    },
    text,
  };
}
