import { answerKeptMs, claimKeptMs } from "../idempotency-claims.ts";
import { html, page } from "./html.ts";

/** The published idempotency specification (IDK-7, IDK-13, IDK-28). */
export function createIdempotencyPage(): string {
  return page(
    "Idempotency-Key in the Posthorn API",
    html`<h1>Idempotency-Key</h1>
<p>Every <code>POST</code> may carry an <code>Idempotency-Key</code>. Repeat a request with the same key, and it is done
once: the repeat gets the answer of the first, with <code>Idempotency-Replayed: true</code>.</p>
<pre><code>Idempotency-Key: "8e03978e-40d5-43e8-bc93-6894a57f9324"</code></pre>
<h2>Format</h2>
<p>A structured-field string (RFC 8941): in double quotes, 1 to 255 characters of printable ASCII, <code>"</code> and
<code>\\</code> escaped by a backslash. Use a UUID or something as random. A bare value of letters, digits and
<code>. _ ~ : / + = -</code> is read as the same string. Anything else is refused before it is looked up.</p>
<h2>Scope</h2>
<p>A key belongs to the API key and the route it was sent with. Others never meet it.</p>
<h2>The same request</h2>
<p>Method, path with query, and the bytes of the body make a request; their SHA-256 is kept with the key.</p>
<h2>Expiry</h2>
<p>An answer is kept for ${answerKeptMs / 3_600_000} hours. A request that left no answer because the server was
interrupted frees its key within ${claimKeptMs / 1_000} seconds, on SQLite with its next start.</p>
<h2>What is kept</h2>
<p>Answers that a repeat would not change: successes, and refusals such as 404 or 422. Not kept, so that a repeat runs
again: 409, 429 and all 5xx. A request that is refused before it runs (400 for a bad body, 401, 403, 413, 415) uses up
no key. Answers that show a secret are kept encrypted.</p>
<h2>Errors</h2>
<div class="scroll"><table>
<tr><td>400</td><td><code>idempotency_key_malformed</code></td><td>The header is not in the format above.</td></tr>
<tr><td>409</td><td><code>idempotency_key_in_progress</code></td><td>The first request is still running. Repeat it after <code>Retry-After</code>.</td></tr>
<tr><td>422</td><td><code>idempotency_key_reused</code></td><td>The key was used for another request. Use a new one.</td></tr>
</table></div>
<h2>Events have a key of their own</h2>
<p>The field <code>idempotency_key</code> of an event is part of the event, is kept per tenant for 24 hours, and works
across routes, batches and API keys. For publishing it is the better choice; the header then is not needed. One case needs it: when the server dies after it
committed a request and before it stored the answer, a repeat that has only the header is done a second time.</p>
<p><a href="../docs">All of the API</a></p>`,
  );
}
