import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreUnavailableError } from "../../../ports/store.ts";
import { DatabaseSetupError, isConnectionLoss, isTransient, setupError, storeError } from "./errors.ts";
import { judgeServer } from "./server.ts";

function failure(code: string | null, message = "failed"): Error {
  return Object.assign(new Error(message), code === null ? {} : { code });
}

const good = { version: 150_020, encoding: "UTF8", readOnly: false };

for (const { code, text } of [
  { code: "53100", text: /disk .* full/ },
  { code: "53300", text: /too many connections/ },
  { code: "25006", text: /read-only/ },
  { code: "57P01", text: /shutting down/ },
  { code: "57P03", text: /shutting down or starting/ },
  { code: "57014", text: /too long/ },
  { code: "55P03", text: /lock/ },
  { code: "40001", text: /conflict/ },
  { code: "40P01", text: /conflict/ },
  { code: "08006", text: /connection/ },
  { code: "58030", text: /system error/ },
  { code: "ECONNRESET", text: /cannot be reached/ },
  { code: "ENOTFOUND", text: /cannot be reached/ },
]) {
  test(`the engine may try again after ${code}`, () => {
    const error = storeError(failure(code));
    assert.ok(error instanceof StoreUnavailableError);
    assert.match(error.message, text);
  });
}

test("errors of our own statements are bugs and pass through", () => {
  for (const code of ["23505", "42P01", "22P02", "PH001"]) {
    const error = failure(code);
    assert.equal(storeError(error), error);
  }
});

test("errors that pg reports only as text are lost connections", () => {
  for (const message of [
    "Connection terminated unexpectedly",
    "timeout exceeded when trying to connect",
    "Query read timeout",
    "Client has encountered a connection error and is not queryable",
    "Cannot use a pool after calling end on the pool",
  ]) {
    assert.ok(isConnectionLoss(failure(null, message)), message);
    assert.ok(storeError(failure(null, message)) instanceof StoreUnavailableError, message);
  }
  assert.equal(isConnectionLoss(failure(null, "x is not a function")), false);
});

test("only conflicts between transactions are retried at once", () => {
  assert.ok(isTransient(failure("40001")));
  assert.ok(isTransient(failure("40P01")));
  assert.equal(isTransient(failure("08006")), false);
});

for (const { code, problem } of [
  { code: "28P01", problem: "login_refused" },
  { code: "28000", problem: "login_refused" },
  { code: "SELF_SIGNED_CERT_IN_CHAIN", problem: "tls" },
  { code: "3D000", problem: "missing" },
  { code: "42501", problem: "no_permission" },
  { code: "25006", problem: "read_only" },
  { code: "53300", problem: "full" },
  { code: "ECONNREFUSED", problem: "unreachable" },
  { code: "42P07", problem: "foreign" },
  { code: "42723", problem: "foreign" },
]) {
  test(`opening says what ${code} means for the setting`, () => {
    const error = setupError(failure(code), "db.example:5432/posthorn");
    assert.ok(error instanceof DatabaseSetupError);
    assert.equal(error.problem, problem);
    assert.match(error.message, /POSTHORN_DATABASE_URL/);
  });
}

test("opening distinguishes missing TLS and a missing password from an unreachable server", () => {
  const problemOf = (message: string) => {
    const error = setupError(failure(null, message), "db.example:5432/posthorn");
    return error instanceof DatabaseSetupError ? error.problem : error;
  };
  assert.equal(problemOf("The server does not support SSL connections"), "tls");
  assert.equal(problemOf("SASL: client password must be a string"), "login_refused");
  assert.equal(problemOf("timeout expired"), "unreachable");
});

test("a socket refused by the system is a lost connection, whether or not the code is known", () => {
  for (const code of ["EINVAL", "EADDRNOTAVAIL", "EMFILE", "EPERM", "ENETDOWN"]) {
    const error = Object.assign(failure(code), { syscall: "connect" });
    assert.ok(storeError(error) instanceof StoreUnavailableError, code);
    const told = setupError(error, "db.example:5432/posthorn");
    assert.ok(told instanceof DatabaseSetupError && told.problem === "unreachable", code);
    assert.match(told.message, new RegExp(code));
  }
});

test("opening names a missing file for TLS, a database without a name and a server that is not PostgreSQL", () => {
  const told = (error: Error, at = "db.example:5432/posthorn") => {
    const found = setupError(error, at);
    assert.ok(found instanceof DatabaseSetupError);
    return found;
  };
  const missingFile = Object.assign(failure("ENOENT", "ENOENT: no such file, open '/ca.pem'"), {
    syscall: "open",
  });
  assert.match(told(missingFile).message, /\/ca\.pem.*sslrootcert/);
  const folder = Object.assign(failure("EISDIR", "EISDIR: illegal operation on a directory, read"), {
    syscall: "read",
  });
  assert.match(told(folder).message, /directory.*sslrootcert/);
  assert.match(told(failure("3D000"), "db.example:5432").message, /name one at the end of the URL/);
  const nonsense = "Received unexpected copyData message from backend.";
  assert.match(told(failure(null, nonsense)).message, /does not speak the protocol of PostgreSQL.*port/);
});

test("a server before 15, another encoding and a standby are refused", () => {
  judgeServer(good);
  assert.throws(() => judgeServer({ ...good, version: 140_012 }), /PostgreSQL 14.*15 or later/);
  assert.throws(() => judgeServer({ ...good, encoding: "SQL_ASCII" }), /SQL_ASCII/);
  assert.throws(() => judgeServer({ ...good, readOnly: true }), /standby/);
});

test("a pooler in statement mode is named, and other refusals contain the server's text", () => {
  const text = "transaction blocks not allowed in statement pooling mode";
  const pooler = setupError(failure("08P01", text), "db:6432/posthorn");
  assert.ok(pooler instanceof DatabaseSetupError);
  assert.equal(pooler.problem, "pooler");
  assert.match(pooler.message, /pool_mode to transaction or session/);
  const other = setupError(failure("08P01", "bouncer config error"), "db:6432/posthorn");
  assert.ok(other instanceof DatabaseSetupError);
  assert.match(other.message, /08P01, bouncer config error/);
});
