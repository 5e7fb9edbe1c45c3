import type { ReceivedRequest } from "../../../ports/store/gateway.ts";
import { heldOf, requestDocument } from "../gateway-rows.ts";
import { numbers, texts } from "./columns.ts";
import type { Transaction } from "./database.ts";

/** Bodies are rare, and only in rows that are not written by a commit, so they are sent as hexadecimal text. */
const insertSql = `INSERT INTO posthorn.gateway_requests AS known
  SELECT id, tenant, source, received_at, status, outcome, cause, bookmark, document, decode(body, 'hex')
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::int[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::text[])
    AS r (id, tenant, source, received_at, status, outcome, cause, bookmark, document, body)
  ORDER BY id`;

const keptSql = `${insertSql} ON CONFLICT DO NOTHING`;
const replacedSql = `${insertSql} ON CONFLICT (id) DO UPDATE SET status = excluded.status,
  outcome = excluded.outcome, cause = excluded.cause, document = excluded.document`;

/** Rows of the gateway's log and of held messages. An existing row is kept, or replaced except for its body. */
export async function writeRequests(
  transaction: Transaction,
  { requests, replaces }: { readonly requests: readonly ReceivedRequest[]; readonly replaces: boolean },
): Promise<void> {
  if (requests.length === 0) return;
  await transaction.rows(replaces ? replacedSql : keptSql, [
    texts(requests.map(({ id }) => id)),
    texts(requests.map(({ tenantId }) => tenantId)),
    texts(requests.map(({ sourceId }) => sourceId)),
    numbers(requests.map(({ receivedAt }) => receivedAt)),
    numbers(requests.map(({ status }) => status)),
    texts(requests.map(({ outcome }) => outcome)),
    texts(requests.map(({ cause }) => cause)),
    texts(requests.map(({ bookmark }) => bookmark)),
    texts(requests.map(requestDocument)),
    texts(requests.map(({ body }) => (body === null ? null : Buffer.from(body).toString("hex")))),
  ]);
  const held = requests.flatMap(heldOf);
  if (held.length === 0) return;
  await transaction.rows(
    `INSERT INTO posthorn.gateway_held SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
     ON CONFLICT DO NOTHING`,
    [
      texts(held.map(({ connectionId }) => connectionId)),
      texts(held.map(({ requestId }) => requestId)),
      texts(held.map(({ eventId }) => eventId)),
    ],
  );
}
