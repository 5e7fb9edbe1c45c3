import { answerKeptMs, claimKeptMs } from "../idempotency-claims.ts";
import { html, page } from "./html.ts";

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
<p>A key belongs to the API key and the route it was sent with. It does not collide with keys of others.</p>
<h2>The same request</h2>
<p>Two requests are the same if method, path, query and the bytes of the body are equal. Their SHA-256 is stored with the
key.</p>
<h2>Expiry</h2>
<p>A response is kept for ${answerKeptMs / 3_600_000} hours. If the server is interrupted before it responds, the key is free again
within ${claimKeptMs / 1_000} seconds, on SQLite at the next start.</p>
<h2>What is kept</h2>
<p>Responses that a repeat would not change: successes, and refusals such as 404 or 422. 409, 429 and all 5xx are not kept,
so a repeat runs again. A request that is refused before it runs (400 for a bad body, 401, 403, 413, 415) does not use up
its key. Responses that contain a secret are stored encrypted.</p>
<h2>Errors</h2>
<div class="scroll"><table>
<tr><td>400</td><td><code>idempotency_key_malformed</code></td><td>The header is not in the format above.</td></tr>
<tr><td>409</td><td><code>idempotency_key_in_progress</code></td><td>The first request is still running. Retry after <code>Retry-After</code>.</td></tr>
<tr><td>422</td><td><code>idempotency_key_reused</code></td><td>The key was used for another request. Use a new one.</td></tr>
</table></div>
<h2>Idempotency keys of events</h2>
<p>The field <code>idempotency_key</code> of an event is part of the event. It is kept per tenant for 24 hours and works
across routes, batches and API keys. Use it for publishing; the header is then unnecessary. It also covers a case that the
header does not: if the server dies after committing a request and before storing the response, a repeat with only the
header runs a second time.</p>
<p><a href="../docs">API reference</a></p>`,
  );
}
