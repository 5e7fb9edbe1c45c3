import { tryParseJson } from "../../domain/json/json-text.ts";
import type { Source } from "./source.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import { verifierFromConfiguration, withSecrets } from "../../receiver/configured/configured-verifier.ts";
import type { SourceVerifier } from "../../receiver/configured/source-verifier.ts";

/** Placeholder for a secret. */
const masked = "…";

/** Seals verifier configurations, and creates verifiers from them, once per saved source. */
export class VerificationBox {
  readonly #secretBox: SecretBox;
  readonly #verifiers = new WeakMap<Source, SourceVerifier>();

  constructor(secretBox: SecretBox) {
    this.#secretBox = secretBox;
  }

  seal({ id }: Pick<Source, "id">, plaintext: string): string {
    return Buffer.from(this.#secretBox.seal(plaintext, contextOf(id))).toString("base64");
  }

  open({ id }: Pick<Source, "id">, sealed: string): string {
    const ciphertext = Buffer.from(sealed, "base64");
    return this.#secretBox.open({ ciphertext, context: contextOf(id) });
  }

  shown(source: Source): Readonly<Record<string, unknown>> {
    return withSecrets(this.#configuration(source), () => masked) as Readonly<Record<string, unknown>>;
  }

  /** Throws if the configuration cannot be read or used (any more); then all messages are rejected. */
  verifier(source: Source): SourceVerifier {
    const known = this.#verifiers.get(source);
    if (known !== undefined) return known;
    const made = verifierFromConfiguration(this.#configuration(source));
    if (made.kind === "invalid") throw new Error(`the verification of source ${source.id} cannot be used`);
    this.#verifiers.set(source, made.source);
    return made.source;
  }

  #configuration(source: Source): unknown {
    return tryParseJson(this.open(source, source.verification));
  }
}

function contextOf(id: string): string {
  return `gateway source ${id}`;
}
