import { useSignal } from "@preact/signals";
import { bytesOf, hexText, utf8Text } from "../../shared/bytes.ts";
import { useApi } from "../../shared/queries.ts";
import type { RenderedRequest } from "../../shared/resources.ts";
import { shell } from "../../shared/shell-text.ts";
import { AsApi } from "../../shared/ui/as-api.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { TextView } from "../../shared/ui/text-view.tsx";

/** Request of an attempt, reconstructed from stored data. Loaded on demand. */
export function RequestOfAttempt(props: { readonly deliveryId: string; readonly number: number }) {
  const { deliveryId, number } = props;
  const isOpen = useSignal(false);
  const path = `v1/deliveries/${deliveryId}/attempts/${number}/request`;
  const { data, error } = useApi<RenderedRequest>(isOpen.value ? { path } : null, { everyMs: false });
  return (
    <>
      <h3>Request</h3>
      <p class="actions">
        <button type="button" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
          {isOpen.value ? "Hide request" : "Show request"}
        </button>
        <AsApi
          what="Request"
          twin={{ path, cli: shell`deliveries request ${deliveryId} ${String(number)}` }}
        />
      </p>
      {isOpen.value && error !== null && <ErrorNote error={error} />}
      {isOpen.value && data !== null && data.attempt_number === number && <Rendered request={data} />}
    </>
  );
}

function Rendered({ request }: { readonly request: RenderedRequest }) {
  const { method, url, headers, body_base64, exact, may_differ } = request;
  const isHex = useSignal(false);
  const bytes = bytesOf(body_base64);
  const text = utf8Text(bytes);
  const head = [`${method} ${url}`, ...headers.map(({ name, value }) => `${name}: ${value}`)].join("\n");
  return (
    <>
      <p class="soft">
        {exact
          ? "Reconstructed from stored data, exactly as sent. Secrets are masked."
          : "Reconstructed from stored data. The body is exactly as sent. Other parts may differ:"}
      </p>
      {may_differ.length > 0 && (
        <ul class="samples">
          {may_differ.map(({ parts, detail }) => (
            <li key={detail}>
              {parts.join(", ")}: {detail}
            </li>
          ))}
        </ul>
      )}
      <TextView text={head} label="Request line and headers" />
      <p class="soft">
        {bytes.length.toLocaleString()} bytes{" "}
        {text !== null && bytes.length > 0 && (
          <label>
            <input
              type="checkbox"
              checked={isHex.value}
              onChange={({ currentTarget }) => (isHex.value = currentTarget.checked)}
            />{" "}
            hex
          </label>
        )}
      </p>
      {bytes.length > 0 && (
        <TextView text={text === null || isHex.value ? hexText(bytes) : text} label="Request body" />
      )}
    </>
  );
}
