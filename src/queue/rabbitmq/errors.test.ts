import assert from "node:assert/strict";
import { test } from "node:test";
import { connectError } from "./errors.ts";

test("a socket refused by the system means an unreachable broker, whether or not the code is known", () => {
  for (const code of ["EINVAL", "EADDRNOTAVAIL", "EMFILE", "EPERM", "ENETDOWN"]) {
    const error = Object.assign(new Error(`connect ${code}`), { code, syscall: "connect" });
    const told = connectError(error, "broker:5672/vhost");
    assert.equal(told.problem, "unreachable");
    assert.match(told.message, new RegExp(`${code}.*check host and port.*POSTHORN_QUEUE_URL`));
  }
});
