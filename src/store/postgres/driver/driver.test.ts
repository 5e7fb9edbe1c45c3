import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { parseAddress } from "./driver.ts";
import { DatabaseSetupError } from "./errors.ts";

suite("the address of a database", () => {
  for (const [url, at] of [
    ["postgres://user:secret@host:6543/posthorn", "host:6543/posthorn"],
    ["postgresql://user:secret%40%2F@host", "host:5432"],
    ["postgres:///posthorn?host=/var/run/postgresql&user=me", "/var/run/postgresql:5432/posthorn"],
    ["postgres://host/posthorn?user=me@tenant&password=secret", "host:5432/posthorn"],
  ] as const) {
    test(`${url} is shown as ${at}`, () => assert.deepEqual(parseAddress(url), { url, at }));
  }

  for (const [name, url] of [
    ["text that is not a URL", "secret"],
    ["another protocol", "mysql://user:secret@host/posthorn"],
    ["a slash in the password", "postgres://user:1/secret@host/posthorn"],
    ["a slash that begins the password", "postgres://user:/secret@host/posthorn"],
    ["a slash in the user", "postgres://us/secret:x@host/posthorn"],
    ["a question mark in the password", "postgres://user:1?secret@host/posthorn"],
    ["a question mark and more in the password", "postgres://user:1?secret&x@host/posthorn"],
    ["a number sign in the password", "postgres://user:1#secret@host/posthorn"],
    ["a percent sign in the password", "postgres://user:100%secret@host/posthorn"],
    ["two hosts with ports", "postgres://user:secret@one:5432,two:5432/posthorn"],
    ["two hosts without ports", "postgres://user:secret@one,two/posthorn"],
    ["two hosts as a parameter", "postgres:///posthorn?host=one,two&password=secret"],
    ["a host and another one as a parameter", "postgres://user:secret@one/posthorn?host=two"],
    ["a choice between hosts", "postgres://user:secret@one/posthorn?target_session_attrs=read-write"],
  ] as const) {
    test(`${name} is refused, naming the setting and hiding the password`, () => {
      assert.throws(
        () => parseAddress(url),
        (error) =>
          error instanceof DatabaseSetupError &&
          error.problem === "invalid_url" &&
          error.message.includes("POSTHORN_DATABASE_URL") &&
          !/secret|user:1/.test(error.message),
      );
    });
  }
});
