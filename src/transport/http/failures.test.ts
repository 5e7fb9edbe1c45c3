import assert from "node:assert/strict";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { test } from "node:test";
import { shortageOf } from "./failures.ts";

function failure(code: string, address?: string): Error {
  return Object.assign(new Error(code), {
    code,
    syscall: "connect",
    ...(address !== undefined && { address }),
  });
}

test("system errors of this machine are distinguished from those of receivers", () => {
  assert.equal(shortageOf(failure("EMFILE", "192.0.2.1")), "descriptors");
  assert.equal(shortageOf(failure("ENFILE")), "descriptors");
  assert.equal(shortageOf(failure("ENOBUFS")), "buffers");
  assert.equal(shortageOf(failure("EADDRNOTAVAIL", "127.0.0.1")), "ports");
  for (const code of ["ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"])
    assert.equal(shortageOf(failure(code, "192.0.2.1")), null, code);
});

test("an address of a family that this machine lacks is not a shortage of ports", (t) => {
  const address = (family: "IPv4" | "IPv6", own: string, internal = false) =>
    ({ family, address: own, internal }) as os.NetworkInterfaceInfo;
  const interfaces = t.mock.method(os, "networkInterfaces");
  syncBuiltinESMExports();
  t.after(() => {
    interfaces.mock.restore();
    syncBuiltinESMExports();
  });
  const ours = [address("IPv4", "10.0.0.2"), address("IPv6", "::1", true), address("IPv6", "fe80::1")];
  interfaces.mock.mockImplementation(() => ({ eth0: ours }));
  assert.equal(shortageOf(failure("EADDRNOTAVAIL", "2001:db8::1")), null);
  assert.equal(shortageOf(failure("EADDRNOTAVAIL", "192.0.2.1")), "ports");
  ours.push(address("IPv6", "2001:db8::2"));
  assert.equal(shortageOf(failure("EADDRNOTAVAIL", "2001:db8::1")), "ports");
});
