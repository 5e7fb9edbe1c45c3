import { type Profile, signatureSchemeNames } from "../../domain/profile.ts";
import { answerHandshake, echoChallenge } from "../../receiver/handshake.ts";
import type { MessageVerifier, Verification } from "../../receiver/message/message.ts";
import { ReceiverError } from "../../receiver/receiver-error.ts";
import { UsageError } from "../failures.ts";
import { ownFile, readOwnFile, writeOwnFile } from "../own-files.ts";
import type { ReceivedDelivery, ReceiverAnswer } from "./local-receiver.ts";

/** Keeps the secret of `posthorn listen` between runs, by server and port, in a file readable only by its owner. */
export class ListenSecrets {
  readonly #path: string | null;
  readonly #name: string;
  #isKept = false;

  constructor(
    env: Readonly<Record<string, string | undefined>>,
    server: string,
    /** 0 means any port. */ port: number,
  ) {
    this.#path = ownFile("listen.json", env);
    this.#name = `${server} ${port}`;
  }

  /** Whether the next run will use the same secret. */
  get isKept(): boolean {
    return this.#isKept;
  }

  last(): string | null {
    const secret = readOwnFile(this.#path)[this.#name];
    this.#isKept = typeof secret === "string";
    return typeof secret === "string" ? secret : null;
  }

  keep(secret: unknown): void {
    if (this.#path === null || typeof secret !== "string") return;
    try {
      writeOwnFile(this.#path, { ...readOwnFile(this.#path), [this.#name]: secret });
      this.#isKept = true;
    } catch {
      // A read-only home folder must not prevent listening.
    }
  }

  /** Records that this run uses a different secret. */
  leave(): void {
    this.#isKept = false;
  }
}

/** A sender's verification request together with its response. */
export interface Permission {
  readonly question: "handshake" | "challenge";
  readonly answer: ReceiverAnswer;
}

/**
 * Grants every CloudEvents handshake and echo challenge, because the user started the receiver to see deliveries. Null
 * for other requests.
 */
export async function permissionFor(delivery: ReceivedDelivery): Promise<Permission | null> {
  if (delivery.method === "OPTIONS") return handshake(delivery);
  const echo = echoChallenge(delivery.body);
  if (echo === null) return null;
  return { question: "challenge", answer: { ...echo, body: echo.body ?? "" } };
}

async function handshake({ method, path, headers, body }: ReceivedDelivery): Promise<Permission> {
  const message = { method, url: path, body, headers: { get: (name: string) => headers[name] ?? null } };
  try {
    const { status, headers: granted } = await answerHandshake(message, { allow: "*" });
    return { question: "handshake", answer: { status, headers: granted } };
  } catch (error) {
    if (!(error instanceof ReceiverError)) throw error;
    return { question: "handshake", answer: { status: 400, body: error.message } };
  }
}

/** Verifies the signature of a delivery. Null without a secret. */
export type Check = (delivery: ReceivedDelivery) => Promise<Verification | null>;

export interface CheckKeys {
  /** `whsec_…`, `whsk_…` and `whpk_…` keys. There may be several during a rotation. */
  readonly secrets: readonly string[];
  /** Limits the accepted schemes to those of the profile. If null, every scheme that matches a key is accepted. */
  readonly profile: Profile | null;
  /** `keyid` of shared secrets in HTTP message signatures. */
  readonly keyId: string;
}

/**
 * Verifies with the receiver kit, which is loaded on demand. Throws a UsageError that describes what is wrong with a
 * secret, without revealing the secret.
 */
export async function createCheck({ secrets, profile, keyId }: CheckKeys): Promise<Check> {
  if (secrets.length === 0) return () => Promise.resolve(null);
  const { verifierFor } = await import("../../check/sender/verifier.ts");
  const { anyOf } = await import("../../receiver/schemes/first-match.ts");
  const schemes = profile ?? { name: "any", signatureSchemesAllowed: signatureSchemeNames };
  const verifier = anyOf(secrets.map((secret) => explained(() => verifierFor(secret, schemes, keyId))));
  return async ({ method, path, headers, body, receivedAt }) =>
    verifier.verify(
      { method, url: path, body, headers: { get: (name) => headers[name.toLowerCase()] ?? null } },
      { nowSeconds: Math.floor(receivedAt.getTime() / 1_000) },
    );
}

function explained(create: () => MessageVerifier): MessageVerifier {
  try {
    return create();
  } catch (error) {
    if (error instanceof RangeError || error instanceof ReceiverError)
      throw new UsageError(`--secret: ${error.message}`);
    throw error;
  }
}
