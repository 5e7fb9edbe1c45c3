import { strict as assert } from "node:assert";
import { pbkdf2 } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type LookupFunction } from "node:net";
import { hostname as ownHostname, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { type NameServer, startNameServer } from "../../test/peers/name-server.ts";
import { codeOf } from "../domain/thrown.ts";
import type { NameSource } from "../ports/name-lookup.ts";
import { createHostNames, createInfrastructureLookup, createLookupSlots } from "./host-names.ts";
import type { NameFiles } from "./name-files.ts";

interface Machine {
  readonly files: NameFiles;
  readonly names: NameSource;
  write(content: Partial<NameFiles>): Promise<void>;
}

/** Real files in a temporary folder, and a resolver that reads them. */
async function machine(t: TestContext, content: Partial<NameFiles>): Promise<Machine> {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-names-"));
  t.after(() => rm(folder, { recursive: true }));
  const files = {
    hosts: join(folder, "hosts"),
    resolv: join(folder, "resolv.conf"),
    nsswitch: join(folder, "nsswitch.conf"),
  };
  const write = async (changed: Partial<NameFiles>): Promise<void> => {
    for (const name of ["hosts", "resolv", "nsswitch"] as const) {
      const text = changed[name];
      if (text !== undefined) await writeFile(files[name], text);
    }
  };
  await write(content);
  const names = createHostNames({ files });
  t.after(() => names.close());
  return { files, names, write };
}

async function nameServer(t: TestContext, host?: "::1"): Promise<NameServer> {
  const server = await startNameServer(host);
  t.after(() => server.close());
  return server;
}

async function addressesOf(names: NameSource, hostname: string): Promise<readonly string[] | string> {
  return names.resolve(hostname).then(
    (found) => found.map(({ address }) => address),
    (error: unknown) => codeOf(error) ?? "no code",
  );
}

function look(lookup: LookupFunction, hostname: string): Promise<string> {
  return new Promise((resolve, reject) =>
    lookup(hostname, { all: false }, (error, address) =>
      error === null && typeof address === "string"
        ? resolve(address)
        : reject(error ?? new Error("no single address")),
    ),
  );
}

describe("host names", () => {
  it("stay on this machine for localhost", async () => {
    const names = createHostNames();
    for (const hostname of ["localhost", "app.localhost", "LOCALHOST."])
      assert.deepEqual(await addressesOf(names, hostname), ["127.0.0.1", "::1"]);
    names.close();
  });

  it("come from the hosts file first, and at once while name servers are silent", async (t) => {
    const server = await nameServer(t);
    server.addresses.set("both.example.test", ["192.0.2.1"]);
    const { names } = await machine(t, {
      hosts:
        "# comment\n2001:db8::5 both.example.test\n192.0.2.5\tBoth.Example.Test alias # more\nnonsense x\n",
      resolv: `nameserver ${server.address}\n`,
    });
    assert.deepEqual(await addressesOf(names, "both.example.test"), ["192.0.2.5", "2001:db8::5"]);
    server.mood = "silent";
    assert.deepEqual(await addressesOf(names, "alias"), ["192.0.2.5"]);
    assert.deepEqual(server.questions, []);
  });

  it("follow the order of nsswitch.conf", async (t) => {
    const server = await nameServer(t);
    server.addresses.set("both.example.test", ["192.0.2.1"]);
    const resolv = `nameserver ${server.address}\n`;
    const hosts = "192.0.2.5 both.example.test only.example.test\n";
    const { names, write } = await machine(t, {
      hosts,
      resolv,
      nsswitch: "passwd: files\nhosts: dns files\n",
    });
    assert.deepEqual(await addressesOf(names, "both.example.test"), ["192.0.2.1"]);
    assert.deepEqual(await addressesOf(names, "only.example.test"), ["192.0.2.5"]);
    await write({ nsswitch: "hosts:\tdns [NOTFOUND=return] files\n" });
    assert.equal(await addressesOf(names, "only.example.test"), "ENOTFOUND");
    await write({ nsswitch: "hosts: dns [!UNAVAIL=return] files # no\n" });
    assert.equal(await addressesOf(names, "only.example.test"), "ENOTFOUND");
    await write({ nsswitch: "hosts: resolve [!UNAVAIL=return] files myhostname dns" });
    assert.deepEqual(await addressesOf(names, "only.example.test"), ["192.0.2.5"]);
    await write({ nsswitch: "hosts: files" });
    server.addresses.set("third.example.test", ["192.0.2.3"]);
    assert.equal(await addressesOf(names, "third.example.test"), "ENOTFOUND");
    await write({ nsswitch: "hosts: myhostname files" });
    const own = await addressesOf(names, ownHostname());
    assert.ok(Array.isArray(own) && own.length > 0);
  });

  it("use a later service when an earlier one does not answer", async (t) => {
    const server = await nameServer(t);
    server.mood = "failing";
    const { names } = await machine(t, {
      hosts: "192.0.2.5 only.example.test\n",
      resolv: `nameserver ${server.address}\n`,
      nsswitch: "hosts: dns files\n",
    });
    assert.deepEqual(await addressesOf(names, "only.example.test"), ["192.0.2.5"]);
    assert.equal(await addressesOf(names, "other.example.test"), "ESERVFAIL");
  });

  it("change with the hosts file", async (t) => {
    const server = await nameServer(t);
    const { names, write } = await machine(t, {
      hosts: "192.0.2.5 a.example.test\n",
      resolv: `nameserver ${server.address}\n`,
    });
    assert.deepEqual(await addressesOf(names, "a.example.test"), ["192.0.2.5"]);
    await write({ hosts: "192.0.2.66 a.example.test\n" });
    assert.deepEqual(await addressesOf(names, "a.example.test"), ["192.0.2.66"]);
    await write({ hosts: "" });
    assert.equal(await addressesOf(names, "a.example.test"), "ENOTFOUND");
  });

  it("are looked up at the current name servers of resolv.conf, including IPv6", async (t) => {
    const [first, second] = [await nameServer(t), await nameServer(t, "::1")];
    first.addresses.set("a.example.test", ["192.0.2.1", "2001:db8::1"]);
    second.addresses.set("a.example.test", ["192.0.2.2"]);
    const { names, write } = await machine(t, { resolv: `; comment\nnameserver ${first.address}\n` });
    assert.deepEqual(await addressesOf(names, "a.example.test"), ["192.0.2.1", "2001:db8::1"]);
    await write({ resolv: `nameserver ${second.address}\nnameserver nonsense\n` });
    assert.deepEqual(await addressesOf(names, "a.example.test"), ["192.0.2.2"]);
  });

  it("are looked up at the next name server when one is silent", async (t) => {
    const [silent, other] = [await nameServer(t), await nameServer(t)];
    silent.mood = "silent";
    other.addresses.set("a.example.test", ["192.0.2.2"]);
    const { names } = await machine(t, {
      resolv: `nameserver ${silent.address}\nnameserver ${other.address}\noptions timeout:1\n`,
    });
    assert.deepEqual(await addressesOf(names, "a.example.test"), ["192.0.2.2"]);
  });

  it("find new name servers while the former ones are silent", async (t) => {
    const [silent, other] = [await nameServer(t), await nameServer(t)];
    silent.mood = "silent";
    other.addresses.set("a.example.test", ["192.0.2.2"]);
    const options = "options timeout:1 attempts:1\n";
    const { names, write } = await machine(t, { resolv: `nameserver ${silent.address}\n${options}` });
    const waiting = addressesOf(names, "a.example.test");
    while (silent.questions.length === 0) await setImmediate();
    await write({ resolv: `nameserver ${other.address}\n${options}` });
    assert.deepEqual(await waiting, ["192.0.2.2"]);
  });

  it("are queried as often as resolv.conf says, and fail when no server answers", async (t) => {
    const silent = await nameServer(t);
    silent.mood = "silent";
    const { names } = await machine(t, {
      resolv: `nameserver ${silent.address}\noptions timeout:1 attempts:1 rotate\n`,
    });
    assert.equal(await addressesOf(names, "a.example.test"), "ETIMEOUT");
    // One query for each address family.
    assert.deepEqual(silent.questions, ["a.example.test", "a.example.test"]);
  });

  it("are completed with the search domains, by the number of their dots", async (t) => {
    const server = await nameServer(t);
    server.addresses.set("db.svc.example.test", ["192.0.2.1"]);
    server.addresses.set("www.example.test", ["192.0.2.2"]);
    server.addresses.set("www.example.test.svc.example.test", ["192.0.2.3"]);
    const settings = `nameserver ${server.address}\ndomain wrong.test\nsearch other.test svc.example.test.\n`;
    const { names, write } = await machine(t, { resolv: settings });
    assert.deepEqual(await addressesOf(names, "db"), ["192.0.2.1"]);
    assert.deepEqual([...new Set(server.questions)], ["db.other.test", "db.svc.example.test"]);
    assert.deepEqual(await addressesOf(names, "www.example.test"), ["192.0.2.2"]);
    await write({ resolv: `${settings}options ndots:5\n` });
    assert.deepEqual(await addressesOf(names, "www.example.test"), ["192.0.2.3"]);
    assert.deepEqual(await addressesOf(names, "www.example.test."), ["192.0.2.2"]);
  });

  it("reject with a code for names that cannot exist", async (t) => {
    const server = await nameServer(t);
    const { names } = await machine(t, { resolv: `nameserver ${server.address}\n` });
    assert.equal(await addressesOf(names, "posthorn.invalid"), "ENOTFOUND");
    assert.equal(await addressesOf(names, `${"a.".repeat(127)}test`), "ENOTFOUND");
  });

  it("end their queries when closed", async (t) => {
    const silent = await nameServer(t);
    silent.mood = "silent";
    const { names } = await machine(t, { resolv: `nameserver ${silent.address}\n` });
    const first = addressesOf(names, "never-resolved-posthorn.test");
    while (silent.questions.length === 0) await setImmediate();
    const second = addressesOf(names, "never-asked-posthorn.test");
    names.close();
    assert.deepEqual(await Promise.all([first, second]), ["ECANCELLED", "ECANCELLED"]);
  });

  it("hold none of the process's threads while name servers are silent", async (t) => {
    const silent = await nameServer(t);
    silent.mood = "silent";
    const { names, files } = await machine(t, {
      hosts: "127.0.0.1 database.example.test\n",
      resolv: `nameserver ${silent.address}\noptions timeout:30\n`,
      nsswitch: "hosts: files dns\n",
    });
    const lookup = createInfrastructureLookup(createHostNames({ files }));
    let answered = 0;
    const hanging = Array.from({ length: 50 }, (_, number) =>
      addressesOf(names, `n${number}.example.test`).then(() => (answered += 1)),
    );
    // File access and cryptography can still use the thread pool, and a connection to a database by host name succeeds.
    assert.match(await readFile(files.resolv, "utf8"), /nameserver/);
    await promisify(pbkdf2)("password", "salt", 1, 8, "sha256");
    const database = createServer((socket) => socket.end("hello"));
    await new Promise<void>((resolve) => database.listen(0, "127.0.0.1", resolve));
    t.after(() => database.close());
    const { port } = database.address() as AddressInfo;
    const socket = connect({ host: "database.example.test", port, lookup });
    const [greeting] = (await socket.toArray()) as [Buffer];
    assert.equal(greeting.toString(), "hello");
    assert.equal(answered, 0);
    names.close();
    await Promise.all(hanging);
  });
});

describe("the lookup of infrastructure", () => {
  it("keeps the last address while name servers are silent, and takes a new one", async (t) => {
    const server = await nameServer(t);
    server.addresses.set("database.example.test", ["192.0.2.1"]);
    const { names } = await machine(t, {
      resolv: `nameserver ${server.address}\noptions timeout:1 attempts:1\n`,
    });
    // The results expire immediately.
    const lookup = createInfrastructureLookup({
      resolve: async (name) => (await names.resolve(name)).map(({ address }) => ({ address, ttlMs: 0 })),
      close: () => undefined,
    });
    assert.equal(await look(lookup, "database.example.test"), "192.0.2.1");
    server.mood = "silent";
    assert.equal(await look(lookup, "database.example.test"), "192.0.2.1");
    await assert.rejects(look(lookup, "other.example.test"), { code: "EAI_AGAIN" });
    server.mood = "honest";
    server.addresses.set("database.example.test", ["192.0.2.9"]);
    assert.equal(await look(lookup, "database.example.test"), "192.0.2.9");
    server.addresses.delete("database.example.test");
    await assert.rejects(look(lookup, "database.example.test"), { code: "ENOTFOUND" });
  });

  it("answers in the requested family and form", async (t) => {
    const { names } = await machine(t, { hosts: "192.0.2.1 db.example.test\n2001:db8::1 db.example.test\n" });
    const lookup = createInfrastructureLookup(names);
    const all = await new Promise((resolve) =>
      lookup("db.example.test", { all: true }, (_error, addresses) => resolve(addresses)),
    );
    assert.deepEqual(all, [
      { address: "192.0.2.1", family: 4 },
      { address: "2001:db8::1", family: 6 },
    ]);
    const v6 = await new Promise((resolve) =>
      lookup("db.example.test", { family: 6 }, (_error, address, family) => resolve([address, family])),
    );
    assert.deepEqual(v6, ["2001:db8::1", 6]);
  });
});

describe("the system's own lookup", () => {
  it("is used for sources that only it knows, and waits a limited time for its turn", async (t) => {
    const server = await nameServer(t);
    const slots = createLookupSlots();
    const { files } = await machine(t, {
      resolv: `nameserver ${server.address}\n`,
      nsswitch: "hosts: files dns mymachines\n",
    });
    const names = createHostNames({ files, lookupSlots: slots });
    t.after(() => names.close());
    // Another thread holds the only lookup slot.
    Atomics.store(slots, 0, process.hrtime.bigint() + 3_600_000_000_000n);
    assert.equal(await addressesOf(names, "ip6-nothing.invalid"), "EAI_AGAIN");
    Atomics.store(slots, 0, 0n);
    const answer = await addressesOf(names, "ip6-nothing.invalid");
    assert.ok(answer === "ENOTFOUND" || answer === "EAI_AGAIN", String(answer));
    assert.equal(Atomics.load(slots, 0), 0n);
  });
});
