/**
 * Code that verifies our messages, from docs/languages: with the `standardwebhooks` libraries and with our own kit. It
 * reads the secret from the environment.
 */
import { programs as csharp } from "../../../docs/languages/csharp.md";
import { programs as go } from "../../../docs/languages/go.md";
import { programs as java } from "../../../docs/languages/java.md";
import { programs as node } from "../../../docs/languages/node.md";
import { programs as php } from "../../../docs/languages/php.md";
import { programs as python } from "../../../docs/languages/python.md";
import { programs as ruby } from "../../../docs/languages/ruby.md";
import { programs as rust } from "../../../docs/languages/rust.md";

type Program = (typeof node)[number];
/** `kit` is our own package; `plain` needs no package. */
export type Means = "library" | "kit" | "plain";

export interface VerifyCode {
  readonly language: string;
  readonly programs: readonly (Program & { readonly means: Means; readonly install: string | null })[];
}

const kitInstall = "npm install @posthorn/receiver";

export const verifyCode: readonly VerifyCode[] = [
  withInstall("Node", node, "npm install standardwebhooks"),
  withInstall("Python", python, "pip install standardwebhooks"),
  withInstall("Go", go, "go get github.com/standard-webhooks/standard-webhooks/libraries/go"),
  withInstall("Java", java, "implementation 'com.standardwebhooks:standardwebhooks:1.1.0'"),
  withInstall("Ruby", ruby, "gem install standardwebhooks"),
  withInstall("PHP", php, "composer require standard-webhooks/standard-webhooks"),
  withInstall("C#", csharp, "dotnet add package StandardWebhooks"),
  withInstall("Rust", rust, "cargo add standardwebhooks"),
];

function withInstall(language: string, programs: readonly Program[], library: string): VerifyCode {
  const installs: Readonly<Record<Means, string | null>> = { library, kit: kitInstall, plain: null };
  return {
    language,
    programs: programs.map((program) => {
      const means = meansOf(program);
      return { ...program, means, install: installs[means] };
    }),
  };
}

function meansOf({ code }: Program): Means {
  if (code.includes("@posthorn/receiver")) return "kit";
  return /standard-?webhooks/i.test(code) ? "library" : "plain";
}
