/** Verifies messages according to a row of the scheme table. */
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import type { MessageVerifier, ReceivedMessage } from "../message/message.ts";
import { type Claim, createClaimVerifier, hmacProof, type Proof, publicKeyProof } from "./claim-verifier.ts";
import {
  keyTexts,
  publicUrlOf,
  toleranceOf,
  type ToleranceOptions,
  type UnsignedIdOptions,
} from "./options.ts";
import {
  ageProblem,
  base64Bytes,
  entriesIn,
  fieldOf,
  headerOf,
  hexBytes,
  isRejected,
  messageIdFrom,
  rejected,
  type Rejected,
  type TimestampForm,
  timestampOf,
  utf8,
} from "./reading.ts";

const hmacHashes = { "HMAC-SHA1": "sha1", "HMAC-SHA256": "sha256", "HMAC-SHA512": "sha512" } as const;

/** What a provider signs, with which algorithm, and where the signature is. */
export interface ProviderScheme {
  readonly algorithm: keyof typeof hmacHashes | "Ed25519" | "ECDSA P-256 with SHA-256";
  /** Read in this order; all headers are required. */
  readonly headers: {
    readonly id?: string;
    readonly signature: string;
    readonly timestamp?: string;
  };
  /** Additional signature headers of a provider that numbers them. All are optional. */
  readonly moreSignatureHeaders?: readonly string[];
  /** Format of the header `timestamp`; defaults to Unix seconds. */
  readonly timestampForm?: TimestampForm | undefined;
  readonly signature: {
    readonly encoding: "hex" | "base64" | "DER in base64";
    /** The exact length, or the maximum for base64. */
    readonly bytes: number;
    /** Precedes each signature. */
    readonly prefix?: string | undefined;
    /** Separates the entries of a header that contains several. */
    readonly separator?: string | undefined;
    /** Precedes the timestamp, which is another entry of the same header. */
    readonly timestampPrefix?: string | undefined;
  };
  /** In the notation of the provider's documentation, with `{…}` as placeholders. */
  readonly signed: `${string}{body}${string}`;
  /** The option that contains the keys, and how to convert one of its strings to a key. */
  readonly keys: { readonly option: "secrets" | "publicKeys"; readonly keyOf: (text: string) => Uint8Array };
  /** A field of the signed body that contains the signed timestamp in Unix milliseconds. */
  readonly timestampField?: string;
  /** Location of a signed id: a field of the body, or the header `id`. */
  readonly signedId?: { readonly field: string } | "header" | undefined;
  /** A header with an unsigned id. */
  readonly unsignedIdHeader?: string;
}

export interface SchemeOptions extends ToleranceOptions, UnsignedIdOptions {
  readonly producer?: string | undefined;
  readonly publicUrl?: string | undefined;
  readonly secrets?: string | readonly string[];
  readonly publicKeys?: string | readonly string[];
}

interface Reader {
  readonly scheme: ProviderScheme;
  readonly toleranceSeconds: number;
  /** Empty if no address is signed. */
  readonly publicUrl: string;
}

export function createSchemeVerifier(
  crypto: ReceiverCrypto,
  scheme: ProviderScheme & { readonly name: string },
  options: SchemeOptions,
): MessageVerifier {
  const { option, keyOf } = scheme.keys;
  const reader: Reader = {
    scheme,
    toleranceSeconds: isTimed(scheme) ? toleranceOf(options) : 0,
    publicUrl: signsAddress(scheme) ? publicUrlOf({ publicUrl: options.publicUrl ?? "" }) : "",
  };
  return createClaimVerifier(crypto, {
    name: scheme.name,
    producer: options.producer ?? scheme.name,
    proof: proofOf(crypto, scheme, keyTexts(options[option], option).map(keyOf)),
    claimOf: (message, now) => claimOf(message, { ...reader, ...now }),
    messageIdOf: (message) => messageIdOf(message, scheme, options),
    isMessageIdUnsigned: scheme.signedId === undefined,
    ...(scheme.timestampField !== undefined && {
      bodyTimeOf: (message, now) => bodyTimeOf(message, { ...reader, ...now }),
    }),
  });
}

export function isTimed({ headers, signature, timestampField }: ProviderScheme): boolean {
  return [headers.timestamp, signature.timestampPrefix, timestampField].some((place) => place !== undefined);
}

export function signsAddress({ signed }: ProviderScheme): boolean {
  return signed.includes("{notification URL}");
}

function proofOf(crypto: ReceiverCrypto, scheme: ProviderScheme, keys: readonly Uint8Array[]): Proof {
  const { algorithm } = scheme;
  const isEd25519 = algorithm === "Ed25519";
  if (!isEd25519 && algorithm !== "ECDSA P-256 with SHA-256")
    return hmacProof(crypto, hmacHashes[algorithm], keys);
  const verify: ReceiverCrypto["verifyEd25519"] = (key, signature, data) =>
    isEd25519 ? crypto.verifyEd25519(key, signature, data) : crypto.verifyEcdsaP256(key, signature, data);
  return publicKeyProof(verify, keys);
}

interface Clocked extends Reader {
  readonly nowSeconds: number;
}

function claimOf(message: ReceivedMessage, reader: Clocked): Claim | Rejected {
  const { scheme } = reader;
  const values: Partial<Record<keyof ProviderScheme["headers"], string>> = {};
  for (const [kind, name] of Object.entries(scheme.headers)) {
    const value = headerOf(message, name);
    if (isRejected(value)) return value;
    values[kind as keyof ProviderScheme["headers"]] = value;
  }
  const { id = "", signature: header = "" } = values;
  // If the ID could contain a period, bytes could move from the body to the ID without changing the signature.
  if (scheme.headers.id !== undefined && (messageIdFrom(id) === null || id.includes(".")))
    return rejected("bad_message_id", `${scheme.headers.id} contains a period or other invalid characters`);
  const time = values.timestamp ?? timeIn(header, scheme);
  if (isRejected(time)) return time;
  const timestampSeconds =
    time === null
      ? null
      : timestampOf(time, reader.nowSeconds, reader.toleranceSeconds, scheme.timestampForm);
  if (isRejected(timestampSeconds)) return timestampSeconds;
  const signatures = signaturesIn([header, ...moreHeaders(message, scheme)], scheme);
  if (isRejected(signatures)) return signatures;
  const inserted = { id, time: time ?? "", address: reader.publicUrl, method: message.method };
  return { contents: [contentOf(scheme.signed, inserted, message.body)], signatures, timestampSeconds };
}

function moreHeaders({ headers }: ReceivedMessage, scheme: ProviderScheme): readonly string[] {
  return (scheme.moreSignatureHeaders ?? []).flatMap((name) => headers.get(name)?.trim() ?? []);
}

/** Reads the timestamp from the signature header; null if the scheme does not put it there. */
function timeIn(header: string, { headers, signature }: ProviderScheme): string | Rejected | null {
  const { separator = "", timestampPrefix: prefix } = signature;
  if (prefix === undefined) return null;
  const [time, ...others] = entriesIn(header, separator, prefix);
  if (time !== undefined && others.length === 0) return time;
  return rejected("malformed_header", `${headers.signature} must have exactly one ${prefix}`);
}

function signaturesIn(
  values: readonly string[],
  { headers, signature }: ProviderScheme,
): readonly Uint8Array[] | Rejected {
  const { prefix = "", separator, encoding, bytes } = signature;
  const entries =
    separator === undefined
      ? values.filter((entry) => entry.startsWith(prefix)).map((entry) => entry.slice(prefix.length))
      : values.flatMap((value) => entriesIn(value, separator, prefix));
  const signatures = entries.flatMap(
    (text) => (encoding === "hex" ? hexBytes(text, bytes) : base64Bytes(text, bytes)) ?? [],
  );
  if (signatures.length > 0) return signatures;
  const form =
    encoding === "hex" ? `${2 * bytes} hexadecimal digits` : `no more than ${bytes} bytes in base64`;
  return rejected(
    "malformed_header",
    `${headers.signature} is not ${prefix === "" ? form : `${prefix} and ${form}`}`,
  );
}

interface Inserted {
  readonly id: string;
  readonly time: string;
  readonly address: string;
  readonly method: string;
}

/** The signed content, in pieces: the received body, and the text before and after it as bytes. */
function contentOf(
  signed: ProviderScheme["signed"],
  inserted: Inserted,
  body: Uint8Array,
): readonly Uint8Array[] {
  const [start = "", ...ends] = signed.split("{body}").map((text) => textWith(text, inserted));
  return [
    ...(start === "" ? [] : [utf8(start)]),
    ...ends.flatMap((end) => (end === "" ? [body] : [body, utf8(end)])),
  ];
}

function textWith(text: string, inserted: Inserted): string {
  if (!text.includes("{")) return text;
  return text.replaceAll(/\{([^}]*)\}/g, (_, name: string) => {
    if (name === "id" || name === "method") return inserted[name];
    return name === "notification URL" ? inserted.address : inserted.time;
  });
}

function messageIdOf(
  { headers, body }: ReceivedMessage,
  scheme: ProviderScheme,
  options: SchemeOptions,
): string | null {
  const { signedId, unsignedIdHeader } = scheme;
  if (signedId === "header") return messageIdFrom(headers.get(scheme.headers.id ?? "")?.trim());
  if (signedId !== undefined) return messageIdFrom(fieldOf(body, signedId.field));
  const isWanted = unsignedIdHeader !== undefined && options.unsignedMessageId === true;
  return isWanted ? messageIdFrom(headers.get(unsignedIdHeader)) : null;
}

function bodyTimeOf(
  { body }: ReceivedMessage,
  { scheme: { timestampField = "" }, nowSeconds, toleranceSeconds }: Clocked,
): number | Rejected {
  const milliseconds = fieldOf(body, timestampField);
  if (typeof milliseconds !== "number" || !Number.isSafeInteger(milliseconds))
    return rejected("bad_timestamp", `the body has no ${timestampField} in milliseconds`);
  const timestampSeconds = Math.floor(milliseconds / 1_000);
  return ageProblem(timestampSeconds, nowSeconds, toleranceSeconds) ?? timestampSeconds;
}
