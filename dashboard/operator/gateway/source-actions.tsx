import { useSignal } from "@preact/signals";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { queryClient } from "../../shared/queries.ts";
import type { Source } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { SelectField } from "../../shared/ui/field.tsx";
import { ActionButton, ConfirmButton, DialogButton, LinkButton, mayManage } from "../form/action-button.tsx";
import { type FormField, seldom } from "../form/form-fields.ts";
import { EditPage } from "../form/resource-form.tsx";
import { useRouteId } from "../shell/detail-page.tsx";

export function SourceActions({ source }: { readonly source: Source }) {
  const { id, active } = source;
  if (!mayManage()) return null;
  const path = `v1/sources/${id}`;
  return (
    <div class="actions">
      <LinkButton href={pagePath(`sources/${id}/edit`)} label="Edit" />
      {active ? (
        <DisableButton path={path} before={source.when_inactive} />
      ) : (
        <ActionButton
          label="Enable"
          isPrimary
          run={() => callApi({ method: "PATCH", path, body: { active: true } })}
          done="Source enabled"
        />
      )}
      <DeleteButton
        what="source"
        path={path}
        leadsTo="sources"
        consequence="The address will return 404, and the connections of this source are deleted. Received requests stay in the log until retention removes them. To tell senders that the source is gone, disable it with 410 instead."
      />
    </div>
  );
}

const answers: readonly (readonly [Source["when_inactive"], string])[] = [
  ["unavailable", "503: senders retry later"],
  ["gone", "410: senders stop sending"],
];

function DisableButton(props: { readonly path: string; readonly before: Source["when_inactive"] }) {
  const { path, before } = props;
  const answer = useSignal<string>(before);
  const disable = () =>
    callApi({ method: "PATCH", path, body: { active: false, when_inactive: answer.value } });
  return (
    <DialogButton label="Disable" title="Disable this source?">
      {(close) => (
        <div class="form">
          <p>
            No messages are accepted until you enable it again. To hold messages instead, pause its
            connections.
          </p>
          <SelectField label="Response to senders" value={answer} options={answers} />
          <p>
            <ActionButton
              label="Disable"
              isPrimary
              run={() => disable().then(close)}
              done="Source disabled"
            />
          </p>
        </div>
      )}
    </DialogButton>
  );
}

/** Deletes a source or a connection, and opens another page. */
export function DeleteButton(props: {
  readonly what: string;
  readonly path: string;
  /** Page to open after deleting. */
  readonly leadsTo: string;
  readonly consequence: string;
}) {
  const { what, path, leadsTo, consequence } = props;
  const { go } = useAddress();
  const remove = async () => {
    await callApi({ method: "DELETE", path });
    go(pagePath(leadsTo));
    queryClient.removeQueries({ predicate: ({ queryKey }) => String(queryKey[0]).includes(path) });
  };
  return (
    <ConfirmButton label="Delete" title={`Delete this ${what}?`} run={remove} done="Deleted">
      {consequence}
    </ConfirmButton>
  );
}

export function EditSourcePage() {
  const id = useRouteId();
  return (
    <EditPage<Source>
      title="Edit source"
      path={`v1/sources/${id}`}
      page={pagePath(`sources/${id}`)}
      nameOf={({ name }) => name}
      fields={sourceFields}
      seldom="Event types, deduplication, limits, responses"
    />
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
    label: "Append the rest of the request path and the query to the webhook URL",
    kind: "flag",
  },
  ...seldom([
    { name: "allow_put", label: "Accept PUT as well as POST", kind: "flag" },
    {
      name: "allow_probes",
      label: "Address checks to answer",
      kind: "list",
      hint: "In addition to the provider's checks: head, get, validation_token. Comma-separated.",
    },
    {
      name: "pass_signatures",
      label: "Forward the sender's HTTP Message Signatures",
      kind: "flag",
    },
    {
      name: "event_type",
      label: "Event type (JSON)",
      kind: "json",
      hint: 'Leave empty to use the provider default, or enter one of {"pointer": "/type"}, {"header": "X-Kind"}, {"query": "kind"}, {"fixed": "order.paid"}, {"path": true}.',
      whenEmpty: null,
    },
    {
      name: "key_pointers",
      label: "Fields that identify a message",
      kind: "list",
      hint: "JSON pointers such as /data/id, for senders without message IDs. Comma-separated.",
      whenEmpty: null,
    },
    {
      name: "custom_response",
      label: "Response in store and forward (JSON)",
      kind: "json",
      hint: 'Leave empty to respond with 202. For example {"status": 200, "content_type": "text/plain", "body": "ok"}.',
      whenEmpty: null,
    },
    {
      name: "rate_limit.requests_per_minute",
      label: "Requests per minute",
      kind: "number",
      hint: "Leave empty for no limit. Excess requests get 429.",
    },
    { name: "rate_limit.burst", label: "Burst size", kind: "number" },
    {
      name: "body_bytes_max",
      label: "Maximum body size, bytes",
      kind: "number",
      hint: "Leave empty to use the server limit. Larger bodies get 413.",
      whenEmpty: null,
    },
    {
      name: "budget_ms",
      label: "Response time limit in pass-through, ms",
      kind: "number",
      hint: "Must be below the sender's timeout.",
    },
    {
      name: "retries_within_budget",
      label: "In pass-through, retry temporary failures within the time limit",
      kind: "flag",
    },
    {
      name: "status_overrides",
      label: "Status overrides in pass-through (JSON)",
      kind: "json",
      hint: 'Keyed by webhook result: a status, timeout, not_reached or oversized. For example {"404": 503}.',
    },
    {
      name: "handshake",
      label: "CloudEvents handshake (JSON)",
      kind: "json",
      hint: 'Answers OPTIONS requests from senders. For example {"allowed_origins": ["events.example.com"]}.',
      whenEmpty: null,
    },
    { name: "dedup_window_ms", label: "Deduplication window, ms", kind: "number" },
  ]),
];
