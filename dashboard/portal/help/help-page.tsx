import { useSignal } from "@preact/signals";
import { useLocation } from "preact-iso";
import { callApi } from "../../shared/api.ts";
import { useApi } from "../../shared/queries.ts";
import type { Profile, ReceiverCheck, Webhook } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { Facts } from "../../shared/ui/data-table.tsx";
import { CheckBox, SelectField } from "../../shared/ui/field.tsx";
import { useEndpoints } from "../endpoint/endpoint-state.ts";
import { counted, span, t } from "../shell/language.ts";
import { Action, Table, Text } from "../shell/parts.tsx";
import { may, noun, session } from "../shell/session.ts";
import { PasteRequest } from "./paste-request.tsx";
import { VerifyHelp } from "./verify-help.tsx";

/** Help with verification, the retry schedule, and a check of the receiver. */
export function HelpPage() {
  const { query } = useLocation();
  const chosen = useSignal(query["endpoint"] ?? "");
  const webhooks = useEndpoints();
  const webhook = webhooks.find(({ id }) => id === chosen.value) ?? webhooks[0] ?? null;
  return (
    <>
      <h1>{t("help.title")}</h1>
      {webhooks.length > 1 && (
        <SelectField
          label={noun("title.one")}
          value={chosen}
          options={webhooks.map(({ id, url }) => [id, url])}
        />
      )}
      <VerifyHelp />
      <ExampleMessage key={webhook?.id} webhook={webhook} />
      <PasteRequest />
      {may("test:send") && webhook !== null && <CheckReceiver key={webhook.id} webhook={webhook} />}
      <RetryTable webhook={webhook} />
    </>
  );
}

/** The profile of an endpoint, with an example of its messages. */
function useProfile(webhook: Webhook | null): Profile | null {
  const path = `v1/profiles/${webhook?.profile ?? "standard"}`;
  return useApi<Profile>({ path }, { everyMs: false }).data;
}

/**
 * Retry delays of the endpoint, which default to those of its profile. If no endpoint is selected, the delays of the
 * profile are shown.
 */
function RetryTable({ webhook }: { readonly webhook: Webhook | null }) {
  const profile = useProfile(webhook);
  if (profile === null || session.value === null) return null;
  const config = webhook?.retry_config ?? null;
  const delays = config === null ? delaysOfProfile(profile) : delaysOf(config);
  return (
    <section class="panel">
      <h2>{t("help.retries.title")}</h2>
      <p>{counted("help.retries.text", config?.max_attempts ?? delays.length + 1)}</p>
      <Table
        caption={t("help.retries.title")}
        columns={[
          [t("help.retries.attempt"), ({ attempt }) => attempt],
          [t("help.retries.delay"), ({ delay }) => (delay === 0 ? t("help.retries.atOnce") : span(delay))],
        ]}
        rows={delays.map((delay, index) => ({ attempt: index + 2, delay }))}
        keyOf={({ attempt }) => String(attempt)}
      />
      {config !== null && (
        <p class="soft">{counted("help.retries.age", Math.round(config.max_age_ms / 3_600_000))}</p>
      )}
    </section>
  );
}

/** Maximum number of table rows for a computed schedule. */
const computedMax = 12;

function delaysOf(config: Webhook["retry_config"]): readonly number[] {
  const { base_delay_ms: base, backoff_multiplier: factor, max_delay_ms: most } = config;
  if (config.schedule_ms !== null) return config.schedule_ms;
  if (base === null || factor === null) return [];
  const count = Math.min(computedMax, config.max_attempts - 1);
  return Array.from({ length: count }, (_, index) => Math.min(most ?? Infinity, base * factor ** index));
}

function delaysOfProfile(profile: Profile): readonly number[] {
  const schedule = profile.schedule as { readonly delays_ms?: readonly number[] };
  return schedule.delays_ms ?? [];
}

/** Complete example message of the endpoint's profile with its keys, for testing a signature check. */
function ExampleMessage({ webhook }: { readonly webhook: Webhook | null }) {
  const profile = useProfile(webhook);
  const format = useSignal<string>(webhook?.payload_format ?? "");
  if (profile === null) return null;
  const { url, secret, public_key: publicKey, messages } = profile.example;
  const message = messages.find((one) => one.payload_format === format.value) ?? messages[0];
  if (message === undefined) return null;
  const { host, pathname } = new URL(url);
  const head = [`POST ${pathname} HTTP/1.1`, `Host: ${host}`];
  for (const { name, value } of message.headers) head.push(`${name}: ${value}`);
  return (
    <section class="panel">
      <h2>{t("help.example.title")}</h2>
      <p>{t("help.example.text")}</p>
      <Facts
        rows={[
          [t("secret.title"), <Key text={secret} />],
          [t("help.example.key"), <Key text={publicKey} />],
        ]}
      />
      {messages.length > 1 && (
        <SelectField
          label={t("help.example.format")}
          value={format}
          options={messages.map(({ payload_format: name }) => [name, name])}
        />
      )}
      <Text text={[...head, "", message.body].join("\n")} label={t("help.example.title")} />
    </section>
  );
}

function Key({ text }: { readonly text: string }) {
  return <code dir="ltr">{text}</code>;
}

const tones = { passed: "good", failed: "bad", skipped: "off" } as const;

/** Sends the receiver messages that it must reject, and on request also valid ones. */
function CheckReceiver({ webhook }: { readonly webhook: Webhook }) {
  const findings = useSignal<ReceiverCheck["findings"] | null>(null);
  const sendsValid = useSignal(false);
  const check = async () => {
    findings.value = null;
    const { value } = await callApi<ReceiverCheck>({
      method: "POST",
      path: `v1/webhooks/${webhook.id}/check`,
      body: { allow_valid: sendsValid.value },
    });
    findings.value = value.findings;
    return t("check.done");
  };
  const failed = findings.value?.filter(({ state }) => state === "failed").length ?? 0;
  return (
    <section class="panel">
      <h2>{t("check.title")}</h2>
      <p>{t("check.text")}</p>
      <p class="card-url">{webhook.url}</p>
      <CheckBox
        label={t("check.valid")}
        isChecked={sendsValid.value}
        onChange={(isChecked) => (sendsValid.value = isChecked)}
      />
      <div class="actions">
        <Action run={check}>{t("check.start")}</Action>
      </div>
      {findings.value !== null && (
        <>
          <p>{failed === 0 ? t("check.fine") : counted("check.failed", failed)}</p>
          <ul class="findings">
            {findings.value
              .toSorted((left, right) => Number(right.state === "failed") - Number(left.state === "failed"))
              .map(({ id, title, state, detail, hint }) => (
                <li key={id}>
                  <Badge tone={tones[state]} text={t(`check.${state}`)} /> <span lang="en">{title}</span>
                  {state !== "passed" && (
                    <p class="soft" lang="en">
                      {detail} {hint}
                    </p>
                  )}
                </li>
              ))}
          </ul>
        </>
      )}
    </section>
  );
}
