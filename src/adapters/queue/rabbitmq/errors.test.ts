import assert from "node:assert/strict";
import { test } from "node:test";
import { connectError } from "./errors.ts";

test("what the system refuses a socket for is a broker out of reach, known to us by name or not", () => {
  for (const code of ["EINVAL", "EADDRNOTAVAIL", "EMFILE", "EPERM", "ENETDOWN"]) {
    const error = Object.assign(new Error(`connect ${code}`), { code, syscall: "connect" });
    const told = connectError(error, "broker:5672/vhost");
    assert.equal(told.problem, "unreachable");
    assert.match(told.message, new RegExp(`${code}.*check host and port.*POSTHORN_QUEUE_URL`));
  }
});
