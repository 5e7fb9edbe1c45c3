import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { eventually } from "../scenarios/eventually.fixture.ts";
import { CuttingProxy } from "./cutting-proxy.fixture.ts";

/** A proxy in front of an echo server, and a client that records its responses. */
async function openScene(t: TestContext) {
  const heard: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      heard.push(chunk.toString());
      socket.write(chunk);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const proxy = await CuttingProxy.to((server.address() as AddressInfo).port);
  t.after(() => proxy.close());
  const client = async () => {
    const socket = connect(proxy.port, "127.0.0.1");
    t.after(() => socket.destroy());
    const answers: string[] = [];
    socket.on("data", (chunk: Buffer) => answers.push(chunk.toString()));
    await once(socket, "connect");
    return { socket, text: () => answers.join("") };
  };
  return { proxy, heard, client };
}

function reads(client: { readonly text: () => string }, text: string): Promise<string> {
  return eventually(`the client reads ${text}`, {
    ask: async () => client.text(),
    holds: (seen) => seen === text,
  });
}

/** Resolves when a connection ends, with the code of its error or with "no error". */
async function endOf(socket: Socket): Promise<string> {
  let code = "no error";
  socket.once("error", (error: NodeJS.ErrnoException) => {
    code = error.code ?? error.message;
  });
  await new Promise((resolve) => socket.once("close", resolve));
  return code;
}

test("a cut resets open connections and rejects new ones, until it is restored", async (t) => {
  const { proxy, client } = await openScene(t);
  const before = await client();
  before.socket.write("a");
  await reads(before, "a");
  const ended = endOf(before.socket);
  await proxy.cut();
  assert.equal(await ended, "ECONNRESET");
  assert.equal(await endOf(connect(proxy.port, "127.0.0.1")), "ECONNREFUSED");
  await proxy.restore();
  const after = await client();
  after.socket.write("b");
  await reads(after, "b");
});

test("withheld packets arrive after the restoration, in order, on old connections and new ones", async (t) => {
  const { proxy, heard, client } = await openScene(t);
  const old = await client();
  old.socket.write("a");
  await reads(old, "a");
  proxy.stall();
  old.socket.write("b");
  const young = await client();
  young.socket.write("c");
  // Data on another connection arrives, which shows that there was enough time.
  const { proxy: other, client: otherClient } = await openScene(t);
  assert.ok(other.port !== proxy.port);
  const witness = await otherClient();
  witness.socket.write("d");
  await reads(witness, "d");
  assert.deepEqual(heard, ["a"]);
  await proxy.restore();
  await reads(old, "ab");
  await reads(young, "c");
});

test("responses alone can be dropped: the server receives what the client sends", async (t) => {
  const { proxy, heard, client } = await openScene(t);
  const one = await client();
  one.socket.write("a");
  await reads(one, "a");
  proxy.loseAnswers();
  one.socket.write("b");
  await eventually("the server hears it", {
    ask: async () => heard.join(""),
    holds: (seen) => seen === "ab",
  });
  assert.equal(one.text(), "a");
  const ended = endOf(one.socket);
  await proxy.cut();
  assert.equal(await ended, "ECONNRESET");
  assert.equal(one.text(), "a");
});

test("a delay applies to each direction", async (t) => {
  const { proxy, client } = await openScene(t);
  const one = await client();
  one.socket.write("a");
  await reads(one, "a");
  proxy.delay(100);
  const sentMs = performance.now();
  one.socket.write("b");
  await reads(one, "ab");
  assert.ok(performance.now() - sentMs >= 195, "it came too early");
});
