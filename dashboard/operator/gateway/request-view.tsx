import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import { bytesOf, hexText } from "../../shared/bytes.ts";
import { duration } from "../../shared/format.ts";
import { useApi } from "../../shared/queries.ts";
import type { DeliveryPage, GatewayRequestDetail } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { type Column, DataTable, Facts } from "../../shared/ui/data-table.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { TextView } from "../../shared/ui/text-view.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { When } from "../../shared/ui/when.tsx";
import { DeliveryTable } from "../delivery/delivery-table.tsx";
import { ActionButton, mayManage } from "../form/action-button.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { RequestBadge } from "./parts.tsx";
import { moreLikeThis } from "./request-table.tsx";
import { explanationOf, mayBeRetried } from "./wording.ts";

/** Outcome of a request, its reason, and the available actions. */
export function RequestVerdict({ request }: { readonly request: GatewayRequestDetail }) {
  const { sentence, remedy } = explanationOf(request);
  const { detail, bookmark } = request;
  return (
    <section class="verdict" aria-label="Outcome">
      <RequestBadge outcome={request.outcome} />
      <div>
        <p class="verdict-text">{sentence}</p>
        {detail !== null && (
          <p>
            <code>{detail}</code>
          </p>
        )}
        {remedy !== null && <p>{remedy}</p>}
        {bookmark !== null && <p class="soft">Bookmarked as “{bookmark}”.</p>}
        <RequestActions request={request} />
      </div>
    </section>
  );
}

export function RequestContent({ request }: { readonly request: GatewayRequestDetail }) {
  const { id, event_id, headers } = request;
  const twin = { path: `v1/requests/${id}`, cli: shell`requests get ${id}` };
  return (
    <>
      <Panel title="Forwarded to" twin={twin}>
        <Forwards request={request} />
      </Panel>
      {event_id !== null && <Deliveries eventId={event_id} />}
      <Panel title="Body" twin={twin}>
        <Body request={request} />
      </Panel>
      <Panel title="Headers" twin={twin}>
        <p class="soft">Signatures, cookies and other credentials are masked.</p>
        <TextView
          text={headers.map(({ name, value }) => `${name}: ${value}`).join("\n")}
          label="Request headers"
        />
      </Panel>
      <Panel title="About this request" twin={twin}>
        <About request={request} />
      </Panel>
    </>
  );
}

function About({ request }: { readonly request: GatewayRequestDetail }) {
  const { id, event_id, event_type, original_type } = request;
  return (
    <Facts
      rows={[
        ["Request", <code key="id">{id}</code>],
        ["Received", <When key="received" at={request.received_at} isExact />],
        ["Request line", <code key="asked">{`${request.method} ${request.path}`}</code>],
        ["Response", `${request.status} after ${duration(request.duration_ms)}`],
        ["Verified as", request.scheme ?? "not verified"],
        ["Original type", original_type ?? event_type ?? "–"],
        ...(original_type !== null && event_type !== null && original_type !== event_type
          ? [["Published as", event_type] as const]
          : []),
        [
          "Event",
          event_id === null ? (
            "none"
          ) : (
            <a key="event" href={pagePath(`events/${event_id}`)}>
              {event_id}
            </a>
          ),
        ],
        ...(request.more_count > 0
          ? [["Similar requests", `${moreLikeThis(request)}, within a minute`] as const]
          : []),
        ["Body", `${request.body_bytes.toLocaleString()} bytes`],
      ]}
    />
  );
}

type Forward = GatewayRequestDetail["forwards"][number];

const forwardTones: Readonly<Record<Forward["result"], Tone>> = {
  stored: "new",
  held: "held",
  ignored: "off",
  accepted: "good",
  failed: "bad",
};

const forwardColumns: readonly Column<Forward>[] = [
  { title: "Webhook", cell: (row) => <WebhookLink id={row.webhook_id} url={null} /> },
  { title: "Result", cell: ({ result }) => <Badge tone={forwardTones[result]} text={result} /> },
  { title: "Why", cell: (row) => row.detail ?? <span class="soft">–</span>, isProse: true },
];

function Forwards({ request: { forwards } }: { readonly request: GatewayRequestDetail }) {
  if (forwards.length === 0) return <p class="soft">Not forwarded.</p>;
  return (
    <DataTable
      caption="Forwarded to"
      columns={forwardColumns}
      rows={forwards}
      keyOf={({ connection_id }) => connection_id}
    />
  );
}

/** Deliveries of the event that was created from the request. */
function Deliveries({ eventId }: { readonly eventId: string }) {
  const query = { event_id: eventId, limit: 20, include: "webhook" };
  const loaded = useApi<DeliveryPage>({ path: "v1/deliveries", query });
  const rows = loaded.data?.data ?? [];
  return (
    <Panel
      title="Deliveries created"
      loaded={loaded}
      twin={{ path: "v1/deliveries", query, cli: shell`deliveries list --event ${eventId}` }}
    >
      {rows.length === 0 ? (
        <p class="soft">None. The request was passed through, or every matching connection is paused.</p>
      ) : (
        <DeliveryTable caption="Deliveries of this request" rows={rows} />
      )}
    </Panel>
  );
}

function Body({ request }: { readonly request: GatewayRequestDetail }) {
  const { body, body_base64, body_bytes } = request;
  if (body !== null && body !== "") return <TextView text={body} label="Raw body" />;
  if (body_base64 !== null) return <TextView text={hexText(bytesOf(body_base64))} label="Body in hex" />;
  return (
    <p class="soft">
      {body_bytes === 0
        ? "No body."
        : "The body is not stored or has been removed. A bookmark keeps the body."}
    </p>
  );
}

function RequestActions({ request }: { readonly request: GatewayRequestDetail }) {
  const { id, event_id, source_id, status, outcome, bookmark } = request;
  if (!mayManage()) return null;
  const path = `v1/requests/${id}`;
  const replay = () => callApi({ method: "POST", path: `${path}/replay`, body: {} });
  const isUnproved = outcome === "rejected" && status === 401;
  return (
    <div class="actions">
      {event_id !== null && <ActionButton label="Replay" run={replay} done="Replayed" shortcut="r" />}
      {mayBeRetried(request) && (
        <ActionButton
          label={isUnproved ? "Verify again and forward" : "Forward now"}
          isPrimary
          run={replay}
          done="Accepted"
          shortcut="r"
        />
      )}
      {isUnproved && (
        <a class="button" href={pagePath(`sources/${source_id}`)}>
          Open source verification
        </a>
      )}
      {bookmark === null ? (
        <BookmarkButton path={path} />
      ) : (
        <ActionButton
          label="Remove bookmark"
          run={() => callApi({ method: "PUT", path: `${path}/bookmark`, body: { name: null } })}
          done="Bookmark removed"
        />
      )}
    </div>
  );
}

/** Bookmarks a request, which keeps it for later replay. */
function BookmarkButton({ path }: { readonly path: string }) {
  const isAsking = useSignal(false);
  const name = useSignal("");
  const id = useId();
  const keep = async () => {
    await callApi({ method: "PUT", path: `${path}/bookmark`, body: { name: name.value.trim() } });
    isAsking.value = false;
  };
  return (
    <>
      <button type="button" data-command="Bookmark…" onClick={() => (isAsking.value = true)}>
        Bookmark…
      </button>
      {isAsking.value && (
        <Modal title="Bookmark this request" onClose={() => (isAsking.value = false)}>
          <div class="form">
            <p>
              The request and its body stay in the log until you remove the bookmark. You can replay it at any
              time.
            </p>
            <div class="field">
              <label for={id}>Bookmark name</label>
              <input
                id={id}
                maxLength={255}
                autocomplete="off"
                placeholder="an order with two items"
                value={name.value}
                onInput={({ currentTarget }) => (name.value = currentTarget.value)}
              />
            </div>
            <p>
              <ActionButton
                label="Save"
                isPrimary
                isDisabled={name.value.trim() === ""}
                run={keep}
                done="Bookmarked"
              />
            </p>
          </div>
        </Modal>
      )}
    </>
  );
}
