/** Bodies in chunks of one byte. Memory use must depend on the size of the body, not on the number of chunks. */
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { BodyMemory, readBody as readApiBody } from "../../src/http/dispatch.ts";
import { readBody as readKitBody } from "../../src/receiver/message/read-body.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const count = 200_000;
/** A list of chunks would take a hundred bytes for each chunk. */
const heapBytesMax = 6_000_000;

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Single bytes, with some longer and some empty chunks in between. */
function chunkAt(index: number): Buffer {
  if (index % 1_000 === 999) return Buffer.alloc(0);
  return Buffer.alloc(index % 5_000 === 7 ? 40 : 1, index % 251);
}

const expected = Buffer.concat(Array.from({ length: count }, (_, index) => chunkAt(index)));

test("the kit keeps the bytes of a body and not its chunks", async () => {
  const before = heapBytes();
  let grown = 0;
  let index = 0;
  const chunks: AsyncIterator<Uint8Array> = {
    next: async () => {
      if (index === count) {
        grown = heapBytes() - before;
        return { done: true, value: undefined };
      }
      return { done: false, value: chunkAt(index++) };
    },
  };
  const read = await readKitBody(chunks, 1_048_576);
  assert.ok(read.kind === "read" && expected.equals(read.body));
  assert.ok(grown < heapBytesMax, `${grown} bytes`);
});

test("the API keeps the bytes of a body and not its chunks", async () => {
  const before = heapBytes();
  let grown = 0;
  const payload = Object.assign(new PassThrough(), { headers: {} });
  const body = await new Promise((resolve) => {
    const bounds = { bytesMax: 1_048_576, memory: new BodyMemory(16_777_216), caller: "" };
    readApiBody(payload as unknown as IncomingMessage, bounds, (_error, read) => resolve(read));
    for (let index = 0; index < count; index += 1) payload.emit("data", chunkAt(index));
    grown = heapBytes() - before;
    payload.emit("end");
  });
  assert.ok(Buffer.isBuffer(body) && expected.equals(body));
  assert.ok(grown < heapBytesMax, `${grown} bytes`);
});
