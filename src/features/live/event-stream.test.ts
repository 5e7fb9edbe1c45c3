import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import { EventStream, resumedFrom, unreadBytesMax } from "./event-streams.ts";

/** A client that reads only when the test requests it. */
class Reader extends EventEmitter {
  written = "";
  writableLength = 0;
  destroyed = false;

  write(text: string): boolean {
    this.written += text;
    return true;
  }

  end(text = ""): void {
    this.written += text;
    this.emit("close");
  }
}

function opened() {
  const clock = new ManualClock();
  const stream = new EventStream(clock);
  const reader = new Reader();
  return { clock, stream, reader, attach: () => stream.attach(reader as unknown as ServerResponse) };
}

test("events before the response began are sent once it has begun", () => {
  const { stream, reader, attach } = opened();
  stream.send({ name: "deliveries", data: { n: 1 } });
  attach();
  stream.send({ name: "deliveries", data: { n: 2 } });
  assert.deepEqual(reader.written.match(/^data: .*$/gm), ['data: {"n":1}', 'data: {"n":2}']);
});

test("a slow reader gets nothing more, and is told to start again once it catches up", () => {
  const { stream, reader, attach } = opened();
  attach();
  reader.writableLength = unreadBytesMax + 1;
  stream.send({ name: "deliveries", data: "lost" });
  stream.tick();
  reader.writableLength = 0;
  stream.send({ name: "deliveries", data: "lost too" });
  assert.equal(reader.written.includes("lost"), false);
  stream.tick();
  stream.send({ name: "deliveries", data: "heard" });
  assert.deepEqual(reader.written.match(/^event: .*$/gm), ["event: reset", "event: deliveries"]);
  assert.match(reader.written, /"heard"/);
});

test("a quiet stream sends a heartbeat every 15 seconds", () => {
  const { clock, stream, reader, attach } = opened();
  attach();
  reader.written = "";
  clock.advance(14_999);
  stream.tick();
  assert.equal(reader.written, "");
  clock.advance(1);
  stream.tick();
  assert.equal(reader.written, ": \n\n");
  stream.tick();
  assert.equal(reader.written, ": \n\n");
});

test("callers that wait for the end are notified once, whether client or server ended it, or it never began", () => {
  for (const end of ["client", "server", "never attached"] as const) {
    const { stream, reader, attach } = opened();
    let ends = 0;
    stream.whenEnded(() => (ends += 1));
    if (end !== "never attached") attach();
    if (end === "client") reader.emit("close");
    stream.end();
    stream.send({ name: "deliveries", data: "too late" });
    assert.equal(ends, 1, end);
    assert.equal(reader.written.includes("too late"), false);
    stream.whenEnded(() => (ends += 1));
    assert.equal(ends, 2, "whoever asks later hears at once");
  }
});

test("a client reconnects within a minute", () => {
  const now = 1_800_000_000_000;
  const idOf = (at: number) => at.toString(36);
  assert.equal(resumedFrom(undefined, now), null);
  assert.equal(resumedFrom("", now), null);
  assert.equal(resumedFrom(idOf(now - 60_000), now), now - 60_000);
  assert.equal(resumedFrom(idOf(now - 60_001), now), "too_old");
  assert.equal(resumedFrom(idOf(now + 3_600_000), now), "too_old", "of a clock that is far ahead");
  for (const foreign of ["-1", "a b", "zzzzzzzzzzz", "é"]) assert.equal(resumedFrom(foreign, now), "too_old");
});
