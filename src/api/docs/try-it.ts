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
export const tryItScript = `"use strict";
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
