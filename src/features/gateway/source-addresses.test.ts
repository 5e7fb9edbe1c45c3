import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createUuidV7Source } from "../../domain/uuid.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import { GatewayDirectory, VerificationBox } from "./gateway-directory.ts";
import { hashOfToken, Sources, type SourceServiceOptions } from "./source-service.ts";

const admin = { tenantId: null };
const hourMs = 3_600_000;

/** Sources with a manual clock and a store that discards all writes. */
function open() {
  const clock = { time: Date.UTC(2026, 0, 1), now: () => clock.time };
  const bytes = (count: number) => randomBytes(count);
  const ids = createUuidV7Source(() => clock.time, bytes);
  const store = { saveSource: async () => undefined, sources: async () => [], connections: async () => [] };
  const directory = new GatewayDirectory(store);
  const secretBox: Pick<SecretBox, "seal" | "open"> = {
    seal: (plaintext) => Buffer.from(plaintext),
    open: (ciphertext) => Buffer.from(ciphertext).toString(),
  };
  const sources = new Sources({
    store,
    directory,
    clock,
    random: { bytes },
    box: new VerificationBox(secretBox as SecretBox),
    tenants: { has: () => true },
    access: { nextId: () => ids.next() },
    description: { version: "1" },
    log: { flush: async () => undefined },
    takesCertificates: false,
    sourcesPerTenantMax: 8,
    isUnserved: () => false,
  } as unknown as SourceServiceOptions);
  const works = (path: string): boolean =>
    directory.sourceByToken(hashOfToken(path.split("/").at(-1) ?? ""), clock.now()) !== undefined;
  return { clock, sources, works };
}

test("the old address of a source works during its overlap and not after, even without a restart", async () => {
  const { clock, sources, works } = open();
  const input = { name: "one", verification: { type: "none" } };
  const first = await sources.create(admin, input);
  const { id } = first.view.source;
  const second = await sources.rotate(admin, id, { overlapSeconds: 3_600 });
  assert.deepEqual([works(first.path), works(second.path)], [true, true]);
  clock.time += hourMs - 1;
  assert.deepEqual([works(first.path), works(second.path)], [true, true], "a moment before its end");
  clock.time += 1;
  assert.deepEqual([works(first.path), works(second.path)], [false, true], "at its end");

  const third = await sources.rotate(admin, id, {});
  clock.time += 24 * hourMs - 1;
  assert.equal(works(second.path), true, "a day where none is named");
  clock.time += 1;
  assert.deepEqual([works(second.path), works(third.path)], [false, true]);
});

test("a second rotation ends the overlap of the first", async () => {
  const { sources, works } = open();
  const input = { name: "one", verification: { type: "none" } };
  const first = await sources.create(admin, input);
  const { id } = first.view.source;
  const second = await sources.rotate(admin, id, { overlapSeconds: 3_600 });
  const third = await sources.rotate(admin, id, { overlapSeconds: 3_600 });
  assert.deepEqual(
    [first, second, third].map(({ path }) => works(path)),
    [false, true, true],
  );
});
