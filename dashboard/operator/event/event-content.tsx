import { bytesOf, hexText, utf8Text } from "../../shared/bytes.ts";
import { memberText } from "../../shared/json-tokens.ts";
import { useApi } from "../../shared/queries.ts";
import type { EventDetail } from "../../shared/resources.ts";
import { shell } from "../../shared/shell-text.ts";
import { Panel } from "../../shared/ui/panel.tsx";
import { TextView } from "../../shared/ui/text-view.tsx";

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
    const bytes = bytesOf(event.body_base64 ?? "");
    return (
      <>
        <p class="soft">
          {bytes.length.toLocaleString()} bytes of {event.content_type}
        </p>
        <TextView text={utf8Text(bytes) ?? hexText(bytes)} label="Payload" />
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
