import { errorTable } from "../../core/errors.ts";
import type { ErrorCode } from "../../core/errors.ts";
import { html, page, prose } from "./html.ts";

/** Advice per error code. Complete by construction: a new code without advice does not compile. */
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
  not_found: "It does not exist, was deleted, or belongs to another tenant.",
  method_not_allowed: "The `Allow` header names the methods of this path.",
  conflict: "`detail` names the obstacle. Read the resource and decide again.",
  event_in_progress: "Retry after a moment; the response will be that of the first request.",
  idempotency_key_in_progress: "Retry after `Retry-After`; nothing has to be corrected.",
  delivery_in_flight: "An attempt is in flight. Wait for its result.",
  rotation_in_progress: "Wait until the old secret expires, or send `force`.",
  secret_in_use: "Every webhook needs its own secret. Omit it to have one generated.",
  payload_gone: "The payload was removed by retention and cannot be sent again.",
  payload_too_large: "`detail` names the limit. Put large data elsewhere and send a link.",
  unsupported_media_type: "Send `Content-Type: application/json` without Content-Encoding.",
  event_key_reused:
    "The `idempotency_key` of the event belongs to another event; `event_id` names it. Use a new key.",
  idempotency_key_reused: "A key belongs to one request. Use a new one for a new request.",
  rate_limited: "Slow down; `Retry-After` says for how long.",
  acknowledgement_required:
    "Read GET /service-description, have an administrator acknowledge its version, then change the mode of the source.",
  verification_failed:
    "`detail` contains the receiver's response. No change was made. Fix the receiver and retry.",
  limit_reached:
    "`detail` names the limit. Free capacity, or ask an administrator whether the limit can be raised.",
  internal_error: "This is a server error. Retry with the same Idempotency-Key; the log has the details.",
  unavailable: "Nothing was accepted. Retry after `Retry-After`.",
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
