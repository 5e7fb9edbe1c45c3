import { memberText } from "../../shared/json-tokens.ts";
import { useApi } from "../../shared/queries.ts";
import { shell } from "../../shared/shell-text.ts";
import { Panel } from "../../shared/ui/panel.tsx";
import { TextView } from "../../shared/ui/text-view.tsx";

/** Fields of `GET /v1/events/{id}` that are shown. `data` is taken from the raw response. */
export interface EventDetail {
  readonly id: string;
  readonly event_type: string;
  readonly tenant_id: string;
  readonly timestamp: string;
  readonly created_at: string;
  readonly source: string | null;
  readonly idempotency_key: string;
  readonly priority: string;
  readonly content_type: string;
  readonly deliveries: number;
  readonly raw: boolean;
  readonly body_base64?: string | null;
  readonly payload_removed: boolean;
}

/** Payload of the event, as the publisher wrote it, digit for digit. */
export function EventContent({ id }: { readonly id: string }) {
  const loaded = useApi<EventDetail>({ path: `v1/events/${id}` }, { everyMs: false });
  return (
    <Panel title="Payload" loaded={loaded} twin={{ path: `v1/events/${id}`, cli: shell`events get ${id}` }}>
      {loaded.data !== null && <Content event={loaded.data} text={loaded.text} />}
    </Panel>
  );
}

function Content({ event, text }: { readonly event: EventDetail; readonly text: string }) {
  if (event.payload_removed) return <p class="soft">Retention removed the payload.</p>;
  if (event.raw) {
    const bytes = Uint8Array.from(atob(event.body_base64 ?? ""), (character) => character.charCodeAt(0));
    return (
      <>
        <p class="soft">
          {bytes.length.toLocaleString()} bytes of {event.content_type}
        </p>
        <TextView text={textOf(bytes)} label="Payload" />
      </>
    );
  }
  const metadata = memberText(text, { member: "metadata" }) ?? "null";
  return (
    <>
      <TextView text={memberText(text, { member: "data" }) ?? ""} label="Data" />
      {metadata !== "null" && (
        <>
          <h3>Metadata</h3>
          <TextView text={metadata} label="Metadata" />
        </>
      )}
    </>
  );
}

/** The bytes as text, or in hex if they are not valid UTF-8. */
function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return [...bytes.subarray(0, 4_096)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  }
}
