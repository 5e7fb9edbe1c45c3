import { useSignal } from "@preact/signals";
import { TextView } from "../../shared/ui/text-view.tsx";
import { t } from "../language.ts";
import { textWords } from "../text-words.ts";
import { verifyCode } from "./verify-code.ts";

/** Verification code in the selected programming language. */
export function VerifyHelp() {
  const language = useSignal(verifyCode[0]?.language ?? "");
  const shown = verifyCode.find((one) => one.language === language.value);
  return (
    <section class="panel">
      <h2>{t("help.verify.title")}</h2>
      <p>{t("help.verify.text")}</p>
      <div class="chips" role="group" aria-label={t("help.verify.language")}>
        {verifyCode.map(({ language: name }) => (
          <button
            key={name}
            type="button"
            class={`chip${name === language.value ? " chip-on" : ""}`}
            aria-pressed={name === language.value}
            onClick={() => (language.value = name)}
          >
            {name}
          </button>
        ))}
      </div>
      {shown?.programs.map(({ name, code, means, install, isExecuted }) => (
        <div key={name} class="program">
          <h3>{t(`help.verify.${means}`)}</h3>
          {install !== null && (
            <p class="command" dir="ltr">
              <code>{install}</code>
            </p>
          )}
          <TextView text={code} label={`${shown.language}: ${name}`} words={textWords()} />
          <p class="soft">{t(isExecuted ? "help.verify.executed" : "help.verify.notExecuted")}</p>
        </div>
      ))}
    </section>
  );
}
