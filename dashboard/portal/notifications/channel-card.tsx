import { useSignal } from "@preact/signals";
import { callApi } from "../../shared/api.ts";
import { removeChannel, replaceChannel } from "../../shared/notifications/channel-calls.ts";
import { type Channel, channelState, channelTones, keptInput } from "../../shared/notifications/channel.ts";
import { refreshAll } from "../../shared/queries.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { Action } from "../action.tsx";
import { SecretText } from "../endpoint/secret-once.tsx";
import { useEndpoints } from "../endpoint/use-endpoints.ts";
import { moment, t } from "../language.ts";
import { channelsPath } from "./channel-calls.ts";
import { ChannelForm } from "./channel-form.tsx";
import { topicText } from "./channel.ts";

/** One notification channel: topics, state and actions. */
export function ChannelCard({
  channel,
  kinds,
}: {
  readonly channel: Channel;
  readonly kinds: readonly string[];
}) {
  const isEditing = useSignal(false);
  const state = channelState(channel);
  const told = channel.topics.map((topic) => topicText(topic));
  return (
    <li class="card">
      <div class="card-main">
        <h2 class="card-url">{channel.name === "" ? channel.address : channel.name}</h2>
        <p class="soft">
          {t(`told.kind.${channel.kind}` as "told.kind.email")}
          {channel.name !== "" && ` · ${channel.address}`}
        </p>
        <About webhookIds={channel.webhook_ids} />
        <StateHint channel={channel} />
        <p class="soft">{told.length === 0 ? t("told.topics.none") : told.join(" · ")}</p>
      </div>
      <div class="card-side">
        <Badge tone={channelTones[state]} text={t(`told.state.${state}`)} />
        {channel.last_sent_at !== null && (
          <span class="soft">{t("told.lastSent", { at: moment(channel.last_sent_at) })}</span>
        )}
      </div>
      <div class="card-foot">
        <ChannelActions
          channel={channel}
          isEditing={isEditing.value}
          onEdit={() => (isEditing.value = true)}
        />
        {isEditing.value && (
          <ChannelForm channel={channel} kinds={kinds} onEnd={() => (isEditing.value = false)} />
        )}
      </div>
    </li>
  );
}

/** Hint for channels that currently send nothing. */
function StateHint({ channel }: { readonly channel: Channel }) {
  const { state, limited_until: until } = channel;
  if (state === "unconfirmed") return <p>{t("told.hint.unconfirmed")}</p>;
  if (state === "unsubscribed") return <p>{t("told.hint.unsubscribed")}</p>;
  if (state === "limited" && until !== null) return <p>{t("told.hint.limited", { at: moment(until) })}</p>;
  return null;
}

/** Deleted endpoints are omitted. */
function About({ webhookIds }: { readonly webhookIds: readonly string[] | null }) {
  const webhooks = useEndpoints();
  if (webhookIds === null) return <p class="soft">{t("told.about.all")}</p>;
  const urls = webhooks.filter(({ id }) => webhookIds.includes(id)).map(({ url }) => url);
  return <p class="soft card-url">{urls.join(" · ")}</p>;
}

function ChannelActions(props: {
  readonly channel: Channel;
  readonly isEditing: boolean;
  readonly onEdit: () => void;
}) {
  const { channel } = props;
  const isRemoving = useSignal(false);
  const secret = useSignal<string | null>(null);
  const path = `${channelsPath()}/${channel.id}`;
  const test = async () => {
    await callApi({ method: "POST", path: `${path}/test` });
    await refreshAll();
    return t("told.tested");
  };
  const turn = async () => {
    const input = { ...keptInput(channel), enabled: !channel.enabled };
    await replaceChannel(channelsPath(), { id: channel.id, input });
    return t("saved");
  };
  const rotate = async () => {
    const { value } = await callApi<{ readonly secret: string | null }>({
      method: "POST",
      path: `${path}/secret/rotate`,
      body: {},
    });
    secret.value = value.secret;
    return t("secret.rotated");
  };
  return (
    <>
      <div class="actions">
        <Action run={test}>{t("test.title")}</Action>
        <button type="button" aria-expanded={props.isEditing} onClick={props.onEdit}>
          {t("told.edit")}
        </button>
        <Action run={turn}>{t(channel.enabled ? "noun.webhook.disable" : "noun.webhook.enable")}</Action>
        {channel.kind === "webhook" && <Action run={rotate}>{t("secret.rotate")}</Action>}
        <button type="button" onClick={() => (isRemoving.value = true)}>
          {t("told.remove")}
        </button>
      </div>
      {secret.value !== null && (
        <>
          <p>{t("told.rotated")}</p>
          <SecretText key={secret.value} secret={secret.value} />
        </>
      )}
      {isRemoving.value && (
        <Modal title={t("told.remove")} closeLabel={t("close")} onClose={() => (isRemoving.value = false)}>
          <p class="card-url">{channel.address}</p>
          <div class="actions">
            <Action
              isPrimary
              run={async () => {
                await removeChannel(channelsPath(), channel);
                return t("deleted");
              }}
            >
              {t("told.remove")}
            </Action>
            <button type="button" onClick={() => (isRemoving.value = false)}>
              {t("cancel")}
            </button>
          </div>
        </Modal>
      )}
    </>
  );
}
