import { useSignal } from "@preact/signals";
import { type ComponentChildren, Fragment } from "preact";
import { callApi } from "../../shared/api.ts";
import {
  type ChannelSet,
  channelsPathOf,
  channelState,
  channelTones,
  keptInput,
  removeChannel,
  replaceChannel,
} from "../../shared/channels.ts";
import { useApi } from "../../shared/queries.ts";
import type { Channel } from "../../shared/resources.ts";
import { shell } from "../../shared/shell-text.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton, mayManage } from "../form/action-button.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";

/** Poll interval after a test, because the live stream does not cover notifications. */
const lookEveryMs = 3_000;

/** Notification channels of a tenant. Customers manage the same channels in the portal. */
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
        <p class="soft">No channels. This tenant is not notified when its webhooks fail.</p>
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
  email: "Email",
  slack: "Slack",
  teams: "Teams",
  discord: "Discord",
  pagerduty: "PagerDuty",
  webhook: "URL",
};

const states: Readonly<Record<ReturnType<typeof channelState>, string>> = {
  off: "disabled",
  refused: "address rejected",
  unsubscribed: "unsubscribed",
  unconfirmed: "not confirmed",
  limited: "limited",
  failing: "failing",
  new: "no messages yet",
  ok: "healthy",
};

/** For channels other than email, the API returns only the host of the address. */
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
          {name !== "" && `, ${name}`}; topics:{" "}
          {topics.map((topic) => topic.replaceAll("_", " ")).join(", ") || "nothing"};{" "}
          <About webhookIds={channel.webhook_ids} />
        </p>
        {state === "unconfirmed" && (
          <p>The recipient must open the link in the confirmation email. Nothing else is sent until then.</p>
        )}
        {state === "unsubscribed" && (
          <p>Only the recipient can resubscribe, with the link in an earlier email.</p>
        )}
        {state === "limited" && channel.limited_until !== null && (
          <p>
            Hourly limit reached. The remaining messages follow as one digest{" "}
            <When at={channel.limited_until} />.
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

/** Limits the names shown, because each requires a call. */
const namedMax = 3;

function About({ webhookIds }: { readonly webhookIds: readonly string[] | null }) {
  if (webhookIds === null) return "all webhooks";
  const left = webhookIds.length - namedMax;
  return (
    <>
      webhooks:{" "}
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
  /** API path of the tenant's channels. */
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
        label="Send test"
        name={`to ${channel.address}`}
        run={async () => {
          await callApi({ method: "POST", path: `${path}/${channel.id}/test` });
          tried();
        }}
        done="Test queued. The state shows the result"
      />
      <ActionButton
        label={channel.enabled ? "Disable" : "Enable"}
        name={channel.address}
        run={turn}
        done={channel.enabled ? "Channel disabled" : "Channel enabled"}
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
            {channel.address} gets no more messages. Its address or key is deleted. To add the channel again,
            you must enter it again.
          </p>
          <p class="actions">
            <ActionButton label="Remove" isPrimary run={() => removeChannel(path, channel)} done="Removed" />
          </p>
        </Modal>
      )}
    </>
  );
}
