import { useSignal } from "@preact/signals";
import { programs as csharp } from "../../../docs/languages/csharp.md";
import { programs as go } from "../../../docs/languages/go.md";
import { programs as java } from "../../../docs/languages/java.md";
import { programs as node } from "../../../docs/languages/node.md";
import { programs as php } from "../../../docs/languages/php.md";
import { programs as python } from "../../../docs/languages/python.md";
import { programs as ruby } from "../../../docs/languages/ruby.md";
import { programs as rust } from "../../../docs/languages/rust.md";
import { t } from "../shell/language.ts";
import { Chips, Text } from "../shell/parts.tsx";

/** Verification code in the selected programming language. */
export function VerifyHelp() {
  const language = useSignal(verifyCode[0]?.language ?? "");
  const shown = verifyCode.find((one) => one.language === language.value);
  return (
    <section class="panel">
      <h2>{t("help.verify.title")}</h2>
      <p>{t("help.verify.text")}</p>
      <Chips
        label={t("help.verify.language")}
        names={verifyCode.map(({ language: name }) => name)}
        chosen={language.value}
        textOf={(name) => name}
        choose={(name) => (language.value = name)}
      />
      {shown?.programs.map(({ name, code, means, install, isExecuted }) => (
        <div key={name} class="program">
          <h3>{t(`help.verify.${means}`)}</h3>
          {install !== null && (
            <p class="command" dir="ltr">
              <code>{install}</code>
            </p>
          )}
          <Text text={code} label={`${shown.language}: ${name}`} />
          <p class="soft">{t(isExecuted ? "help.verify.executed" : "help.verify.notExecuted")}</p>
        </div>
      ))}
    </section>
  );
}

type Program = (typeof node)[number];
/** `kit` is our own package; `plain` needs no package. */
type Means = "library" | "kit" | "plain";

interface VerifyCode {
  readonly language: string;
  readonly programs: readonly (Program & { readonly means: Means; readonly install: string | null })[];
}

const kitInstall = "npm install @posthorn/receiver";

/** Code that verifies our messages, from docs/languages. It reads the secret from the environment. */
const verifyCode: readonly VerifyCode[] = [
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
