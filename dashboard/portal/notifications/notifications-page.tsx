import { useSignal } from "@preact/signals";
import { useApi } from "../../shared/queries.ts";
import { ErrorText } from "../error-text.tsx";
import { t } from "../language.ts";
import { SecretText } from "../endpoint/secret-once.tsx";
import type { Channel, ChannelSet } from "./channel.ts";
import { ChannelCard } from "./channel-card.tsx";
import { ChannelForm } from "./channel-form.tsx";
import { channelsPath } from "./channel-calls.ts";
import { SentMessages } from "./sent-messages.tsx";

/** Where people are told when an endpoint fails, and what they were told. */
export function NotificationsPage() {
  const { data, error, isLoading } = useApi<ChannelSet>({ path: channelsPath() });
  const isAdding = useSignal(false);
  const made = useSignal<Channel | null>(null);
  return (
    <>
      <div class="portal-title">
        <h1>{t("told.title")}</h1>
        {data !== null && !isAdding.value && (
          <button type="button" class="primary" onClick={() => (isAdding.value = true)}>
            {t("told.add")}
          </button>
        )}
      </div>
      <p>{t("told.text")}</p>
      {error !== null && <ErrorText error={error} />}
      {isLoading && <p class="soft">{t("loading")}</p>}
      {made.value?.secret !== null && made.value?.secret !== undefined && (
        <section class="panel" aria-label={t("secret.title")}>
          <h2>{t("secret.title")}</h2>
          <p>{t("secret.once")}</p>
          <SecretText secret={made.value.secret} isKept />
        </section>
      )}
      {isAdding.value && data !== null && (
        <section class="panel">
          <h2>{t("told.add")}</h2>
          <ChannelForm
            channel={null}
            kinds={data.kinds}
            onEnd={(channel) => {
              isAdding.value = false;
              made.value = channel;
            }}
          />
        </section>
      )}
      {data?.data.length === 0 && !isAdding.value && <p class="panel">{t("told.none")}</p>}
      <ul class="cards">
        {data?.data.map((channel) => (
          <ChannelCard key={channel.id} channel={channel} kinds={data.kinds} />
        ))}
      </ul>
      <SentMessages />
    </>
  );
}
