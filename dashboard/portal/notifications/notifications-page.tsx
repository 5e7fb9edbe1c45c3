import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { callApi } from "../../shared/api.ts";
import {
  type ChannelSet,
  channelState,
  channelTones,
  keptInput,
  removeChannel,
  replaceChannel,
} from "../../shared/channels.ts";
import { refreshAll, useApi } from "../../shared/queries.ts";
import type { Channel, Page, Secrets, SentNotification } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { useEndpoints } from "../endpoint/endpoint-state.ts";
import { ShownSecret } from "../endpoint/secrets.tsx";
import { moment, t } from "../shell/language.ts";
import { Action, ConfirmButton, ListState, Table, When } from "../shell/parts.tsx";
import { ChannelForm, channelsPath, kindText, topicText } from "./channel-form.tsx";

/** Notification channels and sent messages. */
export function NotificationsPage() {
  return (
    <>
      <Channels about={null} addText={t("told.add")}>
        <h1>{t("told.title")}</h1>
      </Channels>
      <SentMessages />
    </>
  );
}

/** Notification channels of one endpoint. */
export function EndpointChannels({ webhookId }: { readonly webhookId: string }) {
  return (
    <Channels about={webhookId} addText={t("told.here.add")}>
      <h2>{t("told.title")}</h2>
    </Channels>
  );
}

/** Channels of the tenant, or those for one endpoint. A new channel gets the same scope. */
function Channels(props: {
  readonly about: string | null;
  readonly addText: string;
  readonly children: ComponentChildren;
}) {
  const { about, addText, children } = props;
  const loaded = useApi<ChannelSet>({ path: channelsPath() });
  const { data } = loaded;
  const isAdding = useSignal(false);
  const created = useSignal<Channel | null>(null);
  const secret = created.value?.secret ?? null;
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
      <ListState loaded={loaded} empty={null} />
      {secret !== null && (
        <section class="panel" aria-label={t("secret.title")}>
          <h2>{t("secret.title")}</h2>
          <p>{t("secret.once")}</p>
          <ShownSecret secret={secret} isKept />
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
              created.value = channel;
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

/** One notification channel: topics, state and actions. */
function ChannelCard({ channel, kinds }: { readonly channel: Channel; readonly kinds: readonly string[] }) {
  const isEditing = useSignal(false);
  const state = channelState(channel);
  const told = channel.topics.map((topic) => topicText(topic));
  return (
    <li class="card">
      <div class="card-main">
        <h2 class="card-url">{channel.name === "" ? channel.address : channel.name}</h2>
        <p class="soft">
          {kindText(channel.kind)}
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

/** URLs of the endpoints that a channel is for. Deleted endpoints are omitted. */
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
    const call = { method: "POST", path: `${path}/secret/rotate`, body: {} } as const;
    secret.value = (await callApi<Secrets>(call)).value.secret;
    return t("secret.rotated");
  };
  const remove = async () => {
    await removeChannel(channelsPath(), channel);
    return t("deleted");
  };
  return (
    <>
      <div class="actions">
        <Action run={test}>{t("test.title")}</Action>
        <button type="button" aria-expanded={props.isEditing} onClick={props.onEdit}>
          {t("told.edit")}
        </button>
        <Action run={turn}>{t(channel.enabled ? "action.disable" : "action.enable")}</Action>
        {channel.kind === "webhook" && <Action run={rotate}>{t("secret.rotate")}</Action>}
        <ConfirmButton label={t("told.remove")} run={remove}>
          <p class="card-url">{channel.address}</p>
        </ConfirmButton>
      </div>
      {secret.value !== null && (
        <>
          <p>{t("told.rotated")}</p>
          <ShownSecret key={secret.value} secret={secret.value} />
        </>
      )}
    </>
  );
}

const tones: Readonly<Record<SentNotification["state"], Tone>> = {
  waiting: "wait",
  sent: "good",
  handed_over: "good",
  failed: "bad",
  dropped: "off",
};

/** The newest messages with their state. */
function SentMessages() {
  const { data } = useApi<Page<SentNotification>>({ path: "v1/notifications", query: { limit: 20 } });
  const rows = data?.data ?? [];
  if (rows.length === 0) return null;
  return (
    <section class="panel">
      <h2>{t("told.sent")}</h2>
      <Table
        caption={t("told.sent")}
        columns={[
          [t("told.subject"), ({ subject }) => <bdi>{subject}</bdi>],
          [t("column.result"), ({ state }) => <Badge tone={tones[state]} text={t(`told.sent.${state}`)} />],
          [t("column.when"), ({ created_at: at }) => <When at={at} />],
        ]}
        rows={rows}
        keyOf={({ id }) => id}
      />
    </section>
  );
}
