import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { test } from "node:test";
import { codeOf } from "../../src/domain/thrown.ts";
import { freePort } from "./own-process.fixture.ts";

test("a port is reserved: while its server is down, no other server gets it", async (t) => {
  const port = await freePort();
  const another = createSocket("udp4");
  t.after(() => another.close());
  another.bind({ port, address: "127.0.0.1", exclusive: true });
  const [error]: unknown[] = await once(another, "error");
  assert.equal(codeOf(error), "EADDRINUSE");
});
