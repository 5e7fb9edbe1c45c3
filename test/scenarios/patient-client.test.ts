import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { type Answer, startReceiver } from "../peers/receiver.ts";
import { patientClient } from "./patient-client.fixture.ts";

const problem = (status: number, body: object): Answer => ({
  status,
  headers: { "content-type": "application/problem+json", "retry-after": "0" },
  body: JSON.stringify(body),
});
const unchanged = problem(503, { detail: "The store is unavailable. Nothing was changed." });
const unknown = problem(503, { detail: "The store did not confirm whether the change was written." });
const outstanding = problem(409, { code: "idempotency_key_in_progress" });

interface Row {
  readonly answers: readonly Answer[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  readonly sent: number;
}

const rows: Readonly<Record<string, Row>> = {
  "repeats a call that changed nothing": { answers: [unchanged, unchanged, {}], status: 200, sent: 3 },
  "does not repeat a call that may have taken effect": { answers: [unknown, {}], status: 503, sent: 1 },
  "repeats a call with the same key": {
    answers: [unknown, outstanding, {}],
    headers: { "idempotency-key": '"k"' },
    status: 200,
    sent: 3,
  },
  "treats a refusal as an answer": { answers: [problem(422, {}), {}], status: 422, sent: 1 },
};

suite("a client that does what a 503 requires", () => {
  for (const [title, { answers, headers = {}, status, sent }] of Object.entries(rows))
    test(title, async (t) => {
      const receiver = await startReceiver();
      t.after(() => receiver.close());
      let asked = 0;
      // The client also requests the published schemas, which this server does not provide.
      const isCall = ({ path }: { readonly path: string }): boolean => path !== "/openapi.json";
      receiver.script((request) => (isCall(request) ? (answers[asked++] ?? "reset") : { status: 404 }));
      const client = patientClient({ baseUrl: receiver.origin, key: null });
      const reply = await client.post("/v1/events", { n: 1 }, { headers });
      assert.deepEqual([reply.status, asked], [status, sent]);
      const calls = receiver.requests.filter(isCall);
      const keys = new Set(calls.map((request) => request.headers["idempotency-key"]));
      assert.equal(keys.size, 1);
    });
});
