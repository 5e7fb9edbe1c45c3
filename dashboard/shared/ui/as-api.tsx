import { useSignal } from "@preact/signals";
import { type ApiCall, urlOf } from "../api.ts";
import { type ShellText, shellWord } from "../shell-text.ts";
import { CopyButton } from "./copy-button.tsx";
import { Modal } from "./modal.tsx";

export interface ApiTwin extends Pick<ApiCall, "method" | "path" | "query" | "body" | "bodyText"> {
  /** Equivalent CLI command without `posthorn`. Null if none exists. */
  readonly cli: ShellText | null;
}

/** Shows the equivalent API calls as curl, CLI and TypeScript, without the key. */
export function AsApi({ twin, what }: { readonly twin: ApiTwin; readonly what: string }) {
  const isOpen = useSignal(false);
  return (
    <>
      <button
        type="button"
        class="quiet"
        aria-label={`${what} as API`}
        data-curl={curlOf(twin)}
        onClick={() => (isOpen.value = true)}
      >
        as API
      </button>
      {isOpen.value && (
        <Modal title={`${what} as API`} onClose={() => (isOpen.value = false)}>
          <h3>curl</h3>
          <Command text={curlOf(twin)} />
          {twin.cli !== null && (
            <>
              <h3>Command line</h3>
              <Command text={`posthorn ${twin.cli.text}`} />
            </>
          )}
          <h3>TypeScript</h3>
          <Command text={fetchOf(twin)} />
          <p class="soft">
            Set POSTHORN_KEY to an API key first. On the server itself, the CLI finds the key automatically.
          </p>
        </Modal>
      )}
    </>
  );
}

export function Command({ text }: { readonly text: string }) {
  return (
    <div class="command">
      {/* Focusable, so that it can be scrolled by keyboard. */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label="Copy command" />
    </div>
  );
}

function curlOf({ method = "GET", path, query = {}, ...sent }: ApiTwin): string {
  const body = bodyTextOf(sent);
  const parts = [
    'curl -H "Authorization: Bearer $POSTHORN_KEY"',
    ...(method === "GET" ? [] : [`-X ${method}`]),
    ...(body === undefined ? [] : ['-H "Content-Type: application/json"', `-d ${shellWord(body)}`]),
    shellWord(urlOf({ path, query }).href),
  ];
  return parts.join(" \\\n  ");
}

/** TypeScript for Node, Deno, Bun and browsers, without a library. */
function fetchOf({ method = "GET", path, query = {}, body, bodyText }: ApiTwin): string {
  const authorization = "authorization: `Bearer ${process.env.POSTHORN_KEY}`";
  const isEmpty = body === undefined && bodyText === undefined;
  const headers = isEmpty
    ? `{ ${authorization} }`
    : `{ ${authorization}, "content-type": "application/json" }`;
  return [
    `const response = await fetch(${JSON.stringify(urlOf({ path, query }).href)}, {`,
    ...(method === "GET" ? [] : [`  method: "${method}",`]),
    `  headers: ${headers},`,
    ...(body === undefined ? [] : [`  body: JSON.stringify(${JSON.stringify(body)}),`]),
    // The text is inserted as a string, because an object literal would round numbers.
    ...(bodyText === undefined ? [] : [`  body: ${JSON.stringify(bodyText)},`]),
    "});",
    "console.log(await response.json());",
  ].join("\n");
}

function bodyTextOf({ body, bodyText }: Pick<ApiTwin, "body" | "bodyText">): string | undefined {
  return bodyText ?? (body === undefined ? undefined : JSON.stringify(body));
}
