import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { parseAddress } from "./session.ts";
import { WorkQueueSetupError } from "./errors.ts";

suite("address of RabbitMQ", () => {
  test("all parts are read, and names may contain special characters of URLs", () => {
    const { at, connect } = parseAddress("amqp://us%40er:p%2Fw@rabbit.example:5673/my%2Fhost");
    assert.equal(at, "rabbit.example:5673/my/host");
    assert.deepEqual(connect, {
      protocol: "amqp",
      hostname: "rabbit.example",
      port: 5673,
      username: "us@er",
      password: "p/w",
      vhost: "my%2Fhost",
      heartbeat: 10,
      frameMax: 131_072,
    });
  });

  test("missing parts have the defaults of RabbitMQ's clients", () => {
    for (const url of ["amqp://rabbit", "amqp://rabbit/"]) {
      const { connect } = parseAddress(url);
      assert.equal(connect.port, 5672);
      assert.equal(connect.username, "guest");
      assert.equal(connect.password, "guest");
      assert.equal(connect.vhost, "%2F");
    }
    assert.equal(parseAddress("amqps://rabbit").connect.port, 5671);
    assert.equal(parseAddress("amqps://rabbit").connect.protocol, "amqps");
  });

  test("an IPv6 address loses its brackets", () => {
    const { at, connect } = parseAddress("amqp://[::1]:5672");
    assert.equal(connect.hostname, "::1");
    assert.equal(at, "[::1]:5672/");
  });

  test("files for TLS and the heartbeat are parameters", () => {
    const { connect, tlsFiles } = parseAddress("amqps://r?cacertfile=/etc/ca.pem&heartbeat=30");
    assert.equal(connect.heartbeat, 30);
    assert.deepEqual(tlsFiles, { cacertfile: "/etc/ca.pem", certfile: null, keyfile: null });
  });

  for (const [name, url] of [
    ["text that is not a URL", "secret"],
    ["another protocol", "http://user:secret@rabbit"],
    ["no host", "amqp:secret"],
    ["a broken escape", "amqp://user:secret%zz@rabbit"],
    ["an unknown parameter", "amqp://user:secret@rabbit?verify=verify_none"],
    ["a slash in the password", "amqp://user:1/secret@rabbit"],
    ["a slash in the user", "amqp://us/secret:x@rabbit"],
    ["a question mark in the password", "amqp://user:1?secret@rabbit"],
    ["a question mark and more in the password", "amqp://user:1?secret&x@rabbit"],
    ["a number sign in the password", "amqp://secret:1#x@rabbit"],
    ["no heartbeat", "amqp://user:secret@rabbit?heartbeat=0"],
  ] as const) {
    test(`${name} is refused, naming the setting and hiding the password`, () => {
      assert.throws(
        () => parseAddress(url),
        (error) =>
          error instanceof WorkQueueSetupError &&
          error.problem === "invalid_url" &&
          error.message.includes("POSTHORN_QUEUE_URL") &&
          !error.message.includes("secret"),
      );
    });
  }
});
