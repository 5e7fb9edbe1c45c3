import { useSignal } from "@preact/signals";
import { type ComponentChildren, Fragment } from "preact";
import { callApi } from "../../shared/api.ts";
import { channelsPathOf, removeChannel, replaceChannel } from "../../shared/notifications/channel-calls.ts";
import {
  type Channel,
  type ChannelSet,
  channelState,
  channelTones,
  keptInput,
} from "../../shared/notifications/channel.ts";
import { useApi } from "../../shared/queries.ts";
import { shell } from "../../shared/shell-text.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";

/** After a test, until it is known what became of it. No stream tells of that. */
const lookEveryMs = 3_000;

/** Where the people of a tenant are told. They add and change their channels in the portal, with the same calls. */
export function TenantChannels({ tenantId }: { readonly tenantId: string }) {
  const path = channelsPathOf(tenantId);
  const isTried = useSignal(false);
  const loaded = useApi<ChannelSet>({ path }, isTried.value ? { everyMs: lookEveryMs } : {});
  const channels = loaded.data?.data ?? [];
  return (
    <Panel
      title="Notifications"
      loaded={loaded}
      twin={{ path, cli: shell`notifications channels --tenant ${tenantId}` }}
    >
      {channels.length === 0 ? (
        <p class="soft">Nobody of this tenant is told when its webhooks fail.</p>
      ) : (
        <ul class="entry-list" aria-label="Channels of this tenant">
          {channels.map((channel) => (
            <ChannelEntry key={channel.id} channel={channel}>
              {mayManage() && <Actions channel={channel} path={path} tried={() => (isTried.value = true)} />}
            </ChannelEntry>
          ))}
        </ul>
      )}
    </Panel>
  );
}

const kinds: Readonly<Record<string, string>> = {
  email: "Mail",
  slack: "Slack",
  teams: "Teams",
  discord: "Discord",
  pagerduty: "PagerDuty",
  webhook: "URL",
};

const states: Readonly<Record<ReturnType<typeof channelState>, string>> = {
  off: "switched off",
  refused: "address refused",
  unsubscribed: "stopped by its reader",
  unconfirmed: "not confirmed",
  limited: "limited",
  failing: "failing",
  new: "nothing sent yet",
  ok: "works",
};

/** Of all but mails the API tells the host alone. */
function ChannelEntry(props: { readonly channel: Channel; readonly children: ComponentChildren }) {
  const { channel } = props;
  const { kind, name, address, topics } = channel;
  const state = channelState(channel);
  const isBad = channelTones[state] === "bad";
  return (
    <li>
      <div class="entry-head">
        <Badge tone={channelTones[state]} text={states[state]} />
        {address}
      </div>
      <div>
        <p>
          {kinds[kind] ?? kind}
          {name !== "" && `, ${name}`}; told of{" "}
          {topics.map((topic) => topic.replaceAll("_", " ")).join(", ") || "nothing"};{" "}
          <About webhookIds={channel.webhook_ids} />
        </p>
        {state === "unconfirmed" && (
          <p>Its reader has to open the link in the confirmation mail. Nothing else is sent until then.</p>
        )}
        {state === "unsubscribed" && (
          <p>Only its reader can start messages again, with the link in any earlier mail.</p>
        )}
        {state === "limited" && channel.limited_until !== null && (
          <p>
            Too many messages in this hour; the others follow as one, <When at={channel.limited_until} />.
          </p>
        )}
        {isBad && channel.last_error !== null && <p class="bad-text">{channel.last_error}</p>}
        {channel.last_sent_at !== null && (
          <p class="soft">
            last sent <When at={channel.last_sent_at} />
          </p>
        )}
      </div>
      {props.children}
    </li>
  );
}

/** Each is looked up, so no more than a few are named. */
const namedMax = 3;

function About({ webhookIds }: { readonly webhookIds: readonly string[] | null }) {
  if (webhookIds === null) return "about all webhooks";
  const left = webhookIds.length - namedMax;
  return (
    <>
      about{" "}
      {webhookIds.slice(0, namedMax).map((id, index) => (
        <Fragment key={id}>
          {index > 0 && ", "}
          <WebhookLink id={id} url={null} />
        </Fragment>
      ))}
      {left > 0 && ` and ${left} more`}
    </>
  );
}

interface ActionsProps {
  readonly channel: Channel;
  /** Of all channels of the tenant. */
  readonly path: string;
  readonly tried: () => void;
}

function Actions({ channel, path, tried }: ActionsProps) {
  const turn = () =>
    replaceChannel(path, {
      id: channel.id,
      input: { ...keptInput(channel), enabled: !channel.enabled },
    });
  return (
    <div class="actions">
      <ActionButton
        label="Send a test"
        name={`to ${channel.address}`}
        run={async () => {
          await callApi({ method: "POST", path: `${path}/${channel.id}/test` });
          tried();
        }}
        done="The test is queued; the state tells what becomes of it"
      />
      <ActionButton
        label={channel.enabled ? "Switch off" : "Switch on"}
        name={channel.address}
        run={turn}
        done={channel.enabled ? "Switched off" : "Switched on"}
      />
      <RemoveButton channel={channel} path={path} />
    </div>
  );
}

function RemoveButton({ channel, path }: Pick<ActionsProps, "channel" | "path">) {
  const isAsking = useSignal(false);
  return (
    <>
      <button type="button" aria-label={`Remove ${channel.address}…`} onClick={() => (isAsking.value = true)}>
        Remove…
      </button>
      {isAsking.value && (
        <Modal title="Remove this channel?" onClose={() => (isAsking.value = false)}>
          <p>
            {channel.address} is told nothing more. Its address or key is not kept: adding it again takes
            entering it again.
          </p>
          <p class="actions">
            <ActionButton label="Remove" isPrimary run={() => removeChannel(path, channel)} done="Removed" />
          </p>
        </Modal>
      )}
    </>
  );
}
