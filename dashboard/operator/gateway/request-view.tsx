import { useSignal } from "@preact/signals";
import { callApi } from "../../shared/api.ts";
import { bytesOf, hexText } from "../../shared/bytes.ts";
import { duration } from "../../shared/format.ts";
import type { Delivery, GatewayRequest, GatewayRequestDetail } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { type Column, DataTable, Facts } from "../../shared/ui/data-table.tsx";
import { TextField } from "../../shared/ui/field.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { TextView } from "../../shared/ui/text-view.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { When } from "../../shared/ui/when.tsx";
import { listedColumns } from "../delivery/delivery-table.tsx";
import { ActionButton, DialogButton, mayManage } from "../form/action-button.tsx";
import { column, only } from "../lists/columns.tsx";
import { ResourceList } from "../lists/list-page.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { RequestBadge, SourceLink } from "./parts.tsx";
import { explanationOf, mayBeRetried, outcomeOf } from "./wording.ts";

/** Event type of the request. If it is unknown, as for rejected requests, a name such as `POST request`. */
export function nameOfRequest({ original_type, event_type, method }: GatewayRequest): string {
  return original_type ?? event_type ?? `${method} request`;
}

/** Text for the number of similar requests that have no separate row. */
function moreLikeThis({ more_count: count }: Pick<GatewayRequest, "more_count">): string {
  return `+ ${count.toLocaleString()} more like this`;
}

export const requestColumns: readonly Column<GatewayRequest>[] = [
  column.text("Received", (row) => (
    <>
      <a href={pagePath(`requests/${row.id}`)} class="row-link">
        {nameOfRequest(row)}
      </a>
      {row.more_count > 0 && <span class="soft"> {moreLikeThis(row)}</span>}
    </>
  )),
  {
    title: "Outcome",
    cell: (row) => <RequestBadge outcome={row.outcome} />,
    value: ({ outcome }) => only("outcome", outcome, outcomeOf(outcome).text),
  },
  {
    title: "Cause",
    cell: ({ rejection_cause: cause }) => cause?.replaceAll("_", " ") ?? <span class="soft">–</span>,
    value: (row) => only("rejection_cause", row.rejection_cause),
    needs: "medium",
  },
  {
    title: "Response",
    cell: (row) => row.status,
    value: ({ status }) => only("status", String(status)),
    isFigure: true,
    needs: "medium",
  },
  {
    title: "Source",
    cell: (row) => <SourceLink id={row.source_id} />,
    value: (row) => only("source_id", row.source_id),
    needs: "wide",
  },
  column.figure("Duration", (row) => duration(row.duration_ms), "wide"),
  column.text("Bookmark", (row) => row.bookmark ?? <span class="soft">–</span>, "wide"),
  column.time("When", (row) => row.received_at),
];

/** Columns of the requests of one source. */
export const listedRequestColumns: readonly Column<GatewayRequest>[] = requestColumns
  .filter(({ title }) => title !== "Source" && title !== "Bookmark")
  .map(({ value: _value, ...rest }) => rest);

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
        ["Request", <code>{id}</code>],
        ["Received", <When at={request.received_at} isExact />],
        ["Request line", <code>{`${request.method} ${request.path}`}</code>],
        ["Response", `${request.status} after ${duration(request.duration_ms)}`],
        ["Verified as", request.scheme ?? "not verified"],
        ["Original type", original_type ?? event_type ?? "–"],
        original_type !== null &&
          event_type !== null &&
          original_type !== event_type && ["Published as", event_type],
        ["Event", event_id === null ? "none" : <a href={pagePath(`events/${event_id}`)}>{event_id}</a>],
        request.more_count > 0 && ["Similar requests", `${moreLikeThis(request)}, within a minute`],
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
  column.text("Webhook", (row) => <WebhookLink id={row.webhook_id} url={null} />),
  column.text("Result", ({ result }) => <Badge tone={forwardTones[result]} text={result} />),
  column.prose("Why", (row) => row.detail ?? <span class="soft">–</span>),
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
  return (
    <ResourceList<Delivery>
      title="Deliveries created"
      caption="Deliveries of this request"
      path="v1/deliveries"
      query={{ event_id: eventId, limit: 20, include: "webhook" }}
      cli={shell`deliveries list --event ${eventId}`}
      columns={listedColumns}
      none="None. The request was passed through, or every matching connection is paused."
      isExcerpt
    />
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
  const name = useSignal("");
  const keep = () => callApi({ method: "PUT", path: `${path}/bookmark`, body: { name: name.value.trim() } });
  return (
    <DialogButton label="Bookmark" title="Bookmark this request">
      {(close) => (
        <div class="form">
          <p>
            The request and its body stay in the log until you remove the bookmark. You can replay it at any
            time.
          </p>
          <TextField
            label="Bookmark name"
            value={name}
            maxLength={255}
            autocomplete="off"
            placeholder="an order with two items"
          />
          <p>
            <ActionButton
              label="Save"
              isPrimary
              isDisabled={name.value.trim() === ""}
              run={() => keep().then(close)}
              done="Bookmarked"
            />
          </p>
        </div>
      )}
    </DialogButton>
  );
}
