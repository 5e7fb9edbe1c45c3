import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { useApi } from "../../shared/queries.ts";
import type { Webhook } from "../../shared/resources.ts";
import { TextView } from "../../shared/ui/text-view.tsx";
import { t } from "../language.ts";
import { textWords } from "../text-words.ts";

interface ProfileWithExample {
  readonly example: {
    readonly url: string;
    readonly secret: string;
    readonly public_key: string;
    readonly messages: readonly ExampleMessage[];
  };
}

interface ExampleMessage {
  readonly payload_format: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly body: string;
}

/** Complete example message of the endpoint's profile with its keys, for testing a signature check. */
export function ExampleMessageView({ webhook }: { readonly webhook: Webhook | null }) {
  const path = `v1/profiles/${webhook?.profile ?? "standard"}`;
  const { data } = useApi<ProfileWithExample>({ path }, { everyMs: false });
  const chosen = useSignal<string | null>(null);
  const id = useId();
  if (data === null) return null;
  const { url, secret, public_key: publicKey, messages } = data.example;
  const format = chosen.value ?? webhook?.payload_format;
  const message = messages.find((one) => one.payload_format === format) ?? messages[0];
  if (message === undefined) return null;
  const { host, pathname } = new URL(url);
  const head = [`POST ${pathname} HTTP/1.1`, `Host: ${host}`];
  for (const { name, value } of message.headers) head.push(`${name}: ${value}`);
  return (
    <section class="panel">
      <h2>{t("help.example.title")}</h2>
      <p>{t("help.example.text")}</p>
      <dl class="facts">
        <div>
          <dt>{t("secret.title")}</dt>
          <dd>
            <code dir="ltr">{secret}</code>
          </dd>
        </div>
        <div>
          <dt>{t("help.example.key")}</dt>
          <dd>
            <code dir="ltr">{publicKey}</code>
          </dd>
        </div>
      </dl>
      {messages.length > 1 && (
        <p class="field">
          <label for={id}>{t("help.example.format")}</label>
          <select
            id={id}
            value={message.payload_format}
            onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}
          >
            {messages.map(({ payload_format: name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </p>
      )}
      <TextView
        text={[...head, "", message.body].join("\n")}
        label={t("help.example.title")}
        words={textWords()}
      />
    </section>
  );
}
