import { useRoute } from "preact-iso";
import { useAddress } from "../../shared/address.ts";
import { useApi } from "../../shared/queries.ts";
import type { Source } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { type FormField, typedOf } from "../form/form-fields.ts";
import { ResourceForm, saveChanges } from "../form/resource-form.tsx";

export function EditSourcePage() {
  const { params } = useRoute();
  const { go } = useAddress();
  const id = params["id"] ?? "";
  const path = `v1/sources/${id}`;
  const { data, error } = useApi<Source>({ path }, { everyMs: false });
  if (data === null) return <NotLoaded error={error} />;
  const send = async (body: object) => {
    await saveChanges(body, { method: "PATCH", path, body });
    go(pagePath(`sources/${id}`));
  };
  return (
    <>
      <p class="trail">
        <a href={pagePath(`sources/${id}`)}>{data.name}</a>
      </p>
      <h1>Edit source</h1>
      <ResourceForm
        fields={sourceFields}
        before={typedOf(sourceFields, data)}
        isNew={false}
        seldom="Event types, deduplication, limits, responses"
        label="Save"
        send={send}
      />
    </>
  );
}

const sourceFields: readonly FormField[] = [
  { name: "name", label: "Name", kind: "line", hint: "Shown in lists and used by posthorn listen --source." },
  { name: "description", label: "Description", kind: "line" },
  {
    name: "party",
    label: "Party",
    kind: "line",
    hint: "Adds the address /_webhooks/{party}/…. Use a-z, 0-9, _ and -. Must be unique in the deployment.",
    whenEmpty: null,
  },
  {
    name: "forward_headers",
    label: "Forwarded headers",
    kind: "list",
    hint: "In addition to the provider's headers. Comma-separated.",
  },
  {
    name: "forward_path",
    label: "Append the remaining path and query to the webhook URL",
    kind: "flag",
  },
  { name: "allow_put", label: "Accept PUT as well as POST", kind: "flag", isSeldom: true },
  {
    name: "allow_probes",
    label: "Answered address checks",
    kind: "list",
    hint: "In addition to the provider's checks: head, get, validation_token. Comma-separated.",
    isSeldom: true,
  },
  {
    name: "pass_signatures",
    label: "Forward the sender's HTTP Message Signatures",
    kind: "flag",
    isSeldom: true,
  },
  {
    name: "event_type",
    label: "Event type (JSON)",
    kind: "json",
    hint: 'If empty, the provider default. Otherwise one of {"pointer": "/type"}, {"header": "X-Kind"}, {"query": "kind"}, {"fixed": "order.paid"}, {"path": true}.',
    whenEmpty: null,
    isSeldom: true,
  },
  {
    name: "key_pointers",
    label: "Members that identify a message",
    kind: "list",
    hint: "JSON pointers such as /data/id, for senders without message ids. Comma-separated.",
    whenEmpty: null,
    isSeldom: true,
  },
  {
    name: "custom_response",
    label: "Response in store and forward (JSON)",
    kind: "json",
    hint: 'If empty, 202. For example {"status": 200, "content_type": "text/plain", "body": "ok"}.',
    whenEmpty: null,
    isSeldom: true,
  },
  {
    name: "rate_limit.requests_per_minute",
    label: "Requests per minute",
    kind: "number",
    hint: "If empty, no limit. Excess requests get 429.",
    isSeldom: true,
  },
  { name: "rate_limit.burst", label: "Burst size", kind: "number", isSeldom: true },
  {
    name: "body_bytes_max",
    label: "Maximum body size, bytes",
    kind: "number",
    hint: "If empty, the server limit. Larger bodies get 413.",
    whenEmpty: null,
    isSeldom: true,
  },
  {
    name: "budget_ms",
    label: "Response time limit in pass-through, ms",
    kind: "number",
    hint: "Must be below the sender's timeout.",
    isSeldom: true,
  },
  {
    name: "retries_within_budget",
    label: "In pass-through, retry temporary failures within the time limit",
    kind: "flag",
    isSeldom: true,
  },
  {
    name: "status_overrides",
    label: "Status overrides in pass-through (JSON)",
    kind: "json",
    hint: 'By webhook result: a status, timeout, not_reached or oversized. For example {"404": 503}.',
    isSeldom: true,
  },
  {
    name: "handshake",
    label: "CloudEvents handshake (JSON)",
    kind: "json",
    hint: 'Answers OPTIONS requests of senders. For example {"allowed_origins": ["events.example.com"]}.',
    whenEmpty: null,
    isSeldom: true,
  },
  { name: "dedup_window_ms", label: "Deduplication window, ms", kind: "number", isSeldom: true },
];
