import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Channel, ChannelSet } from "../../shared/notifications/channel.ts";
import { useApi } from "../../shared/queries.ts";
import { SecretText } from "../endpoint/secret-once.tsx";
import { ErrorText } from "../error-text.tsx";
import { t } from "../language.ts";
import { channelsPath } from "./channel-calls.ts";
import { ChannelCard } from "./channel-card.tsx";
import { ChannelForm } from "./channel-form.tsx";

/** Channels of the tenant, or those for one endpoint. A new channel gets the same scope. */
export function Channels(props: {
  readonly about: string | null;
  readonly addText: string;
  readonly children: ComponentChildren;
}) {
  const { about, addText, children } = props;
  const { data, error, isLoading } = useApi<ChannelSet>({ path: channelsPath() });
  const isAdding = useSignal(false);
  const made = useSignal<Channel | null>(null);
  const shown = data?.data.filter(
    ({ webhook_ids: ids }) => about === null || ids === null || ids.includes(about),
  );
  return (
    <>
      <div class="portal-title">
        {children}
        {data !== null && !isAdding.value && (
          <button type="button" class="primary" onClick={() => (isAdding.value = true)}>
            {addText}
          </button>
        )}
      </div>
      <p>{t(about === null ? "told.text" : "told.here")}</p>
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
          <h2>{addText}</h2>
          <ChannelForm
            channel={null}
            kinds={data.kinds}
            about={about}
            onEnd={(channel) => {
              isAdding.value = false;
              made.value = channel;
            }}
          />
        </section>
      )}
      {shown?.length === 0 && !isAdding.value && <p class="panel">{t("told.none")}</p>}
      <ul class="cards">
        {shown?.map((channel) => (
          <ChannelCard key={channel.id} channel={channel} kinds={data?.kinds ?? []} />
        ))}
      </ul>
    </>
  );
}
