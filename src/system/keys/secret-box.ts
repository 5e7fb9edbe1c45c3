import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from "node:crypto";
import type { Random } from "../../ports/random.ts";
import { type SecretBox, SecretUnreadableError } from "../../ports/secret-box.ts";

/**
 * Encrypts secrets at rest with AES-256-GCM. The encryption key is derived from a master key, whose id is part of the
 * ciphertext.
 *
 * | Bytes | Content |
 * |---|---|
 * | 1 | layout version, 1 |
 * | 8 | id of the master key |
 * | 12 | nonce, random |
 * | n | ciphertext |
 * | 16 | authentication tag over all of the above and the context |
 *
 * The digest detects reused secrets. It must survive a change of the master key, so it has a separate random key, which
 * is stored sealed by the master key; see key-file.ts.
 */
const layoutVersion = 1;
const keyIdBytes = 8;
const nonceBytes = 12;
const tagBytes = 16;
const headerBytes = 1 + keyIdBytes + nonceBytes;

/** Length of every master key and of the digest key. */
export const masterKeyBytes = 32;

/** The current master key, which seals new secrets, and older keys, which still open the secrets that they sealed. */
export interface KeyRing {
  seal(plaintext: Uint8Array, context: string): Uint8Array;
  /** Throws `SecretUnreadableError`. */
  open(ciphertext: Uint8Array, context: string): Uint8Array;
  /**
   * Whether the current key sealed the ciphertext. Any other ciphertext should be sealed again before an old key is
   * removed.
   */
  isCurrent(ciphertext: Uint8Array): boolean;
}

interface DerivedKey {
  readonly id: Buffer;
  readonly key: Buffer;
}

/** Keys are 32 bytes each. */
export function createKeyRing(
  currentKey: Uint8Array,
  previousKeys: readonly Uint8Array[],
  random: Random,
): KeyRing {
  const current = deriveKey(currentKey);
  const known = new Map(
    [...previousKeys.map(deriveKey), current].map((key) => [key.id.toString("hex"), key]),
  );
  return {
    seal: (plaintext, context) => sealWith(current, plaintext, context, random.bytes(nonceBytes)),
    open(ciphertext, context) {
      const key = known.get(keyIdOf(ciphertext));
      if (key === undefined)
        throw new SecretUnreadableError("the ciphertext was created with an unknown master key");
      return openWith(key, ciphertext, context);
    },
    isCurrent: (ciphertext) => keyIdOf(ciphertext) === current.id.toString("hex"),
  };
}

/** `digestKeyBytes` stay the same for the lifetime of the store. */
export function createSecretBox(ring: KeyRing, digestKeyBytes: Uint8Array): SecretBox {
  const digestKey = Buffer.from(digestKeyBytes);
  return {
    seal: (plaintext, context) => ring.seal(Buffer.from(plaintext, "utf8"), context),
    open: (ciphertext, context) => Buffer.from(ring.open(ciphertext, context)).toString("utf8"),
    digest: (plaintext) => createHmac("sha256", digestKey).update(plaintext, "utf8").digest("base64url"),
  };
}

/** The id is derived too, because it is in every row and must not reveal anything about the key. */
function deriveKey(masterKey: Uint8Array): DerivedKey {
  if (masterKey.length !== masterKeyBytes) {
    throw new RangeError(`a master key must have ${masterKeyBytes} bytes, not ${masterKey.length}`);
  }
  return {
    id: hkdf(masterKey, "posthorn master key id", keyIdBytes),
    key: hkdf(masterKey, "posthorn secret box v1", 32),
  };
}

/** Identifies a master key without revealing anything about it. All ciphertexts of a key contain the same id. */
export function masterKeyId(masterKey: Uint8Array): string {
  return deriveKey(masterKey).id.toString("hex");
}

function hkdf(masterKey: Uint8Array, purpose: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync("sha256", masterKey, "", purpose, bytes));
}

function sealWith(
  { id, key }: DerivedKey,
  plaintext: Uint8Array,
  context: string,
  nonce: Uint8Array,
): Uint8Array {
  const header = Buffer.concat([Buffer.of(layoutVersion), id, nonce]);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(Buffer.concat([header, Buffer.from(context, "utf8")]));
  const body = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return Uint8Array.from(Buffer.concat([header, body, cipher.getAuthTag()]));
}

function openWith({ key }: DerivedKey, ciphertext: Uint8Array, context: string): Uint8Array {
  const bytes = Buffer.from(ciphertext);
  const header = bytes.subarray(0, headerBytes);
  const nonce = header.subarray(1 + keyIdBytes);
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.concat([header, Buffer.from(context, "utf8")]));
  decipher.setAuthTag(bytes.subarray(bytes.length - tagBytes));
  try {
    return Buffer.concat([
      decipher.update(bytes.subarray(headerBytes, bytes.length - tagBytes)),
      decipher.final(),
    ]);
  } catch (cause) {
    throw new SecretUnreadableError("the ciphertext was modified, or belongs to another context", { cause });
  }
}

/** The id of the master key in hex. If the layout is unknown, returns a string that cannot be an id. */
function keyIdOf(ciphertext: Uint8Array): string {
  if (ciphertext[0] !== layoutVersion || ciphertext.length < headerBytes + tagBytes) return "unknown layout";
  return Buffer.from(ciphertext.subarray(1, 1 + keyIdBytes)).toString("hex");
}
