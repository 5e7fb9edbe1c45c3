import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { createPinoLogger, type LoggerOptions } from "./logger.ts";

function capture(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const log = createPinoLogger({
    level: "info",
    format: "json",
    colour: false,
    write: (line) => lines.push(line),
    ...options,
  });
  return { log, lines };
}

suite("log", () => {
  test("one JSON object per line, with level names", () => {
    const { log, lines } = capture();
    log.debug({}, "not wanted");
    log.warn({ webhookId: "w1", attempts: 2 }, "circuit breaker moved");
    const [line = "", ...more] = lines;
    assert.deepEqual(more, []);
    const { time, ...rest } = JSON.parse(line) as Record<string, unknown>;
    assert.match(String(time), /^\d{4}-\d\d-\d\dT/);
    assert.deepEqual(rest, { level: "warn", webhookId: "w1", attempts: 2, msg: "circuit breaker moved" });
  });

  test("readable text, without control characters from outside", () => {
    const { log, lines } = capture({ format: "text" });
    log.error({ reason: "two words", id: "a-1" }, "it \u001b[31mfailed");
    assert.match(lines[0] ?? "", /^\d\d:\d\d:\d\d\.\d{3} error it ·\[31mfailed reason="two words" id=a-1\n$/);
    const painted = capture({ format: "text", colour: true });
    painted.log.error({}, "red");
    assert.ok(painted.lines[0]?.includes("\u001b[31merror"));
  });

  for (const format of ["json", "text"] as const) {
    test(`no secret reaches the log as ${format}`, () => {
      const { log, lines } = capture({ format });
      const error = new Error(
        "connect to https://example.com/hook?token=canary failed with whsec_canarycanary",
      );
      log.error(
        {
          err: error,
          secret: "canary",
          nested: { authorization: "Bearer canary", list: ["phk_canarycanary"] },
        },
        "Bearer canary",
      );
      log.error(
        {
          url: "https://user:canary@example.com/x?key=canary",
          data: { card: "canary" },
          body: Buffer.from("canary"),
        },
        "x",
      );
      log.error(
        { err: String(error), apiKey: "canary", master_key: "canary" },
        "see postgres://u:canary@h/db",
      );
      assert.equal(lines.length, 3);
      assert.doesNotMatch(lines.join(""), /canary/);
      assert.match(lines.join(""), /example\.com\/hook\?\[redacted\]/);
    });
  }

  test("values that JSON cannot hold do not break a line", () => {
    const { log, lines } = capture();
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    log.warn({ loop, big: 10n, bytes: new Uint8Array(3), nothing: null, when: new Date(0) }, "strange");
    assert.match(lines[0] ?? "", /"bytes":"\[3 bytes\]".*"nothing":null/);
  });
});
