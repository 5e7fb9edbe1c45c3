// An application that publishes single events over HTTP: `node bench/publisher/main.ts`, driven by rows/http-one-to-one.ts.

import { Pool } from "undici";
import { eventData } from "../message.ts";
import { serveCalls } from "../process/serve-calls.ts";

const connections = 64;

/** Every connection publishes one event after the other and waits for each answer. */
async function publish(input: {
  readonly url: string;
  readonly adminKey: string;
  readonly types: readonly string[];
  readonly events: number;
}): Promise<void> {
  const pool = new Pool(input.url, { connections, pipelining: 1 });
  const headers = { "authorization": `Bearer ${input.adminKey}`, "content-type": "application/json" };
  let started = 0;
  const connection = async (): Promise<void> => {
    while (started < input.events) {
      const eventType = input.types[started % input.types.length];
      started += 1;
      const answer = await pool.request({
        method: "POST",
        path: "/v1/events",
        headers,
        body: JSON.stringify({ event_type: eventType, data: eventData }),
      });
      const text = await answer.body.text();
      if (answer.statusCode !== 202) throw new Error(`publishing was answered ${answer.statusCode}: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
  await pool.close();
}

serveCalls({ publish });
