import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { SecretUnreadableError } from "../../ports/secret-box.ts";
import { createSystemRandom } from "../random.ts";
import {
  createDigestKeyFile,
  KeyFileError,
  loadDigestKey,
  loadMasterKeyFile,
  parseMasterKey,
  readOrCreateKeyFile,
} from "./key-file.ts";
import { createKeyRing, createSecretBox } from "./secret-box.ts";

const random = createSystemRandom();
const keyA = random.bytes(32);
const keyB = random.bytes(32);
const digestKey = random.bytes(32);

function boxOf(current: Uint8Array, ...previous: readonly Uint8Array[]) {
  return createSecretBox(createKeyRing(current, previous, random), digestKey);
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-keys-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("a sealed text opens with the same context, and two seals of one text differ", () => {
  const box = boxOf(keyA);
  for (const plaintext of ["", "whsec_äöü", "x".repeat(10_000)]) {
    const ciphertext = box.seal(plaintext, "webhook-1");
    assert.equal(box.open(ciphertext, "webhook-1"), plaintext);
    assert.notDeepEqual(box.seal(plaintext, "webhook-1"), ciphertext);
    if (plaintext !== "") assert.ok(!Buffer.from(ciphertext).includes(plaintext));
  }
});

test("the layout is version, key id, nonce, ciphertext, tag", () => {
  const ciphertext = boxOf(keyA).seal("four", "c");
  assert.equal(ciphertext.length, 1 + 8 + 12 + 4 + 16);
  assert.equal(ciphertext[0], 1);
  const other = boxOf(keyA).seal("four", "c");
  assert.deepEqual(other.subarray(0, 9), ciphertext.subarray(0, 9), "the key id follows from the key");
});

test("another context, a changed byte, a truncated text and a foreign key are refused", () => {
  const box = boxOf(keyA);
  const ciphertext = box.seal("secret", "webhook-1");
  const refused = (bytes: Uint8Array, context: string, opener = box) =>
    assert.throws(() => opener.open(bytes, context), SecretUnreadableError);
  refused(ciphertext, "webhook-2");
  refused(ciphertext, "webhook-1", boxOf(keyB));
  for (let index = 0; index < ciphertext.length; index += 1) {
    const changed = Uint8Array.from(ciphertext);
    changed[index] = (changed[index] ?? 0) ^ 1;
    refused(changed, "webhook-1");
    refused(ciphertext.subarray(0, index), "webhook-1");
  }
});

test("after a change of the master key old ciphertexts open and the digest is the same", () => {
  const before = boxOf(keyA);
  const after = boxOf(keyB, keyA);
  const ciphertext = before.seal("secret", "w");
  assert.equal(after.open(ciphertext, "w"), "secret");
  assert.equal(after.digest("secret"), before.digest("secret"));
  assert.notEqual(after.digest("secret"), after.digest("secret2"));
  const ring = createKeyRing(keyB, [keyA], random);
  assert.equal(ring.isCurrent(ciphertext), false);
  assert.equal(ring.isCurrent(after.seal("", "w")), true);
  assert.throws(() => before.open(after.seal("s", "w"), "w"));
});

test("the digest key survives a change of the master key, and a wrong master key is named at start", async (t) => {
  const path = join(folderOf(t), "digest.key");
  const load = (current: Uint8Array, ...previous: readonly Uint8Array[]) =>
    loadDigestKey(
      createDigestKeyFile(path),
      createKeyRing(current, previous, random),
      random,
      async () => false,
    );
  const first = Buffer.from(await load(keyA));
  assert.deepEqual(Buffer.from(await load(keyA)), first);
  assert.ok(!readFileSync(path, "utf8").includes(first.toString("base64")));
  await assert.rejects(load(keyB), (error: unknown) => {
    return error instanceof KeyFileError && error.message.includes("POSTHORN_MASTER_KEY_PREVIOUS");
  });
  assert.deepEqual(Buffer.from(await load(keyB, keyA)), first);
  assert.deepEqual(
    Buffer.from(await load(keyB)),
    first,
    "it was sealed again, so the old key can be removed",
  );
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("a missing digest key is created again only if no secret depends on it", async (t) => {
  const path = join(folderOf(t), "digest.key");
  const load = (stored: boolean) =>
    loadDigestKey(createDigestKeyFile(path), createKeyRing(keyA, [], random), random, async () => stored);
  await assert.rejects(load(true), (error: unknown) => {
    return error instanceof KeyFileError && /digest\.key is missing, .*restore it/.test(error.message);
  });
  assert.deepEqual(readdirSync(join(path, "..")), [], "no new key was created");
  await load(false);
  await load(true);
});

test("a master key is 32 bytes as hex or base64, nothing else", () => {
  const bytes = Buffer.from(keyA);
  for (const text of [
    bytes.toString("hex"),
    bytes.toString("base64"),
    bytes.toString("base64url"),
    `${bytes.toString("hex")}\n`,
  ]) {
    assert.deepEqual(parseMasterKey(text), keyA);
  }
  for (const text of [
    "",
    "secret",
    "0".repeat(63),
    "0".repeat(65),
    "é".repeat(43),
    bytes.toString("base64").slice(4),
  ]) {
    assert.equal(parseMasterKey(text), null, text);
  }
});

test("a key file is created once with a private mode, and read afterwards", (t) => {
  const folder = folderOf(t);
  const path = join(folder, "data", "master.key");
  const created = loadMasterKeyFile(path, random);
  assert.equal(created.created, true);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(join(folder, "data")).mode & 0o777, 0o700);
  assert.deepEqual(loadMasterKeyFile(path, random), { ...created, created: false });
  assert.deepEqual(readdirSync(join(folder, "data")), ["master.key"], "no temporary file is left");
});

test("if two processes start together, both use the first one's key", (t) => {
  const path = join(folderOf(t), "admin.key");
  const file = readOrCreateKeyFile(path, () => {
    // The other process creates the file between this process's check and its write.
    writeFileSync(path, "theirs\n", { mode: 0o600 });
    return "ours";
  });
  assert.deepEqual(file, { text: "theirs", created: false, warnings: [] });
});

test("a key file readable by others causes a warning; an empty or damaged one is refused with advice", (t) => {
  const path = join(folderOf(t), "master.key");
  const key = loadMasterKeyFile(path, random);
  chmodSync(path, 0o644);
  const [warning] = loadMasterKeyFile(path, random).warnings;
  assert.match(warning ?? "", /chmod 600/);
  assert.ok(!warning?.includes(Buffer.from(key.bytes).toString("base64")));
  writeFileSync(path, "");
  assert.throws(() => loadMasterKeyFile(path, random), /is empty; restore it/);
  writeFileSync(path, "canary-not-a-key");
  assert.throws(
    () => loadMasterKeyFile(path, random),
    (error: unknown) => error instanceof KeyFileError && !error.message.includes("canary"),
  );
});
