import { useSignal } from "@preact/signals";
import { useLocation } from "preact-iso";
import { useId } from "preact/hooks";
import { useApi } from "../../shared/queries.ts";
import type { Webhook } from "../../shared/resources.ts";
import { useEndpoints } from "../endpoint/use-endpoints.ts";
import { CheckReceiver } from "../help/check-receiver.tsx";
import { ExampleMessageView } from "../help/example-message.tsx";
import { PasteRequest } from "../help/paste-request.tsx";
import { VerifyHelp } from "../help/verify-help.tsx";
import { counted, span, t } from "../language.ts";
import { may, session } from "../session.ts";
import { noun } from "../words.ts";

/** Help with verification, the retry schedule, and a check of the receiver. */
export function HelpPage() {
  const { query } = useLocation();
  const chosen = useSignal(query["endpoint"] ?? "");
  const webhooks = useEndpoints();
  const webhook = webhooks.find(({ id }) => id === chosen.value) ?? webhooks[0] ?? null;
  const id = useId();
  return (
    <>
      <h1>{t("help.title")}</h1>
      {webhooks.length > 1 && (
        <p class="field">
          <label for={id}>{noun("title.one")}</label>
          <select
            id={id}
            value={webhook?.id ?? ""}
            onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}
          >
            {webhooks.map((one) => (
              <option key={one.id} value={one.id}>
                {one.url}
              </option>
            ))}
          </select>
        </p>
      )}
      <VerifyHelp />
      <ExampleMessageView key={webhook?.id} webhook={webhook} />
      <PasteRequest />
      {may("test:send") && webhook !== null && <CheckReceiver key={webhook.id} webhook={webhook} />}
      <RetryTable webhook={webhook} />
    </>
  );
}

interface Profile {
  readonly retry: {
    readonly schedule: { readonly kind: string; readonly delays_ms?: readonly number[] };
  };
}

/** Retry delays of the endpoint, else of its profile. */
function RetryTable({ webhook }: { readonly webhook: Webhook | null }) {
  const profile = useApi<Profile>(
    { path: `v1/profiles/${webhook?.profile ?? "standard"}` },
    { everyMs: false },
  );
  if (profile.data === null || session.value === null) return null;
  const config = webhook?.retry_config ?? null;
  const delays = config?.schedule_ms ?? profile.data.retry?.schedule?.delays_ms ?? delaysOf(config);
  return (
    <section class="panel">
      <h2>{t("help.retries.title")}</h2>
      <p>{t("help.retries.text", { attempts: config?.max_attempts ?? delays.length + 1 })}</p>
      <table>
        <caption class="off-screen">{t("help.retries.title")}</caption>
        <thead>
          <tr>
            <th scope="col">{t("help.retries.attempt")}</th>
            <th scope="col">{t("help.retries.delay")}</th>
          </tr>
        </thead>
        <tbody>
          {delays.map((delay, index) => (
            // Delays have no id, so use the index.
            <tr key={index}>
              <th scope="row">{index + 2}</th>
              <td>{delay === 0 ? t("help.retries.atOnce") : span(delay)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {config !== null && (
        <p class="soft">{counted("help.retries.age", Math.round(config.max_age_ms / 3_600_000))}</p>
      )}
    </section>
  );
}

function delaysOf(config: Webhook["retry_config"] | null): readonly number[] {
  const { base_delay_ms: base, backoff_multiplier: factor, max_delay_ms: most } = config ?? {};
  if (typeof base !== "number" || typeof factor !== "number") return [];
  const count = Math.min(12, (config?.max_attempts ?? 1) - 1);
  return Array.from({ length: count }, (_, index) => Math.min(most ?? Infinity, base * factor ** index));
}
