import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { whenUnended } from "./posthorn.ts";

test("resources that keep a process alive are named", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const open = await new Promise<readonly string[]>((resolve) => whenUnended(1, resolve));
  assert.ok(open.includes("TCPServerWrap"), open.join());
  server.close();
});
