import { useSignal } from "@preact/signals";
import { announce } from "../../shared/ui/announcer.tsx";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { TextAreaField, TextField } from "../../shared/ui/field.tsx";
import { type MessageKey, t } from "../shell/language.ts";
import { Form } from "../shell/parts.tsx";
import { checkRequest, type Finding, type Mac } from "./request-check.ts";

const tones: Readonly<Record<Finding["state"], Tone>> = { passed: "good", failed: "bad", hint: "wait" };

/** HMAC computed with the browser's Web Crypto API, which is available only on https and localhost. */
const browserMac: Mac = async (key, content) => {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, new TextEncoder().encode(content)));
};

/**
 * Finds out why a pasted request fails the signature check in the customer's code. The request is not sent to the
 * server.
 */
export function PasteRequest() {
  const [headers, body, secret, computed] = [useSignal(""), useSignal(""), useSignal(""), useSignal("")];
  const findings = useSignal<readonly Finding[] | null>(null);
  const check = async () => {
    const request = {
      headers: headers.value,
      body: body.value,
      secret: secret.value,
      computed: computed.value,
    };
    findings.value = await checkRequest(request, { mac: browserMac, now: Date.now() });
    const failed = findings.value.find(({ state }) => state === "failed");
    announce(failed === undefined ? t("paste.fine") : textOf(failed));
  };
  if (!window.isSecureContext) return null;
  return (
    <section class="panel">
      <h2>{t("paste.title")}</h2>
      <p>{t("paste.text")}</p>
      <Form label={t("paste.check")} send={check}>
        <TextAreaField
          label={t("paste.headers")}
          value={headers}
          placeholder={placeholder}
          {...pasted}
          rows={5}
          required
        />
        <TextAreaField
          label={t("paste.body")}
          value={body}
          placeholder={'{"type":"…","data":{…}}'}
          {...pasted}
          rows={5}
          required
        />
        <TextField
          label={t("secret.title")}
          value={secret}
          note={t("paste.secret.hint")}
          {...pasted}
          type="password"
          required
        />
        <TextField label={t("paste.computed")} value={computed} note={t("paste.computed.hint")} {...pasted} />
      </Form>
      {findings.value !== null && (
        <ul class="findings" aria-label={t("paste.found")}>
          {findings.value.map((finding) => (
            <li key={finding.part}>
              <Badge tone={tones[finding.state]} text={t(`paste.part.${finding.part}`)} /> {textOf(finding)}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Disables spell checking and autocomplete for pasted values. */
const pasted = { dir: "ltr", spellcheck: false, autocomplete: "off" } as const;
const placeholder = "webhook-id: …\nwebhook-timestamp: …\nwebhook-signature: v1,…";

function textOf({ what, values }: Finding): string {
  return t(`paste.${what}` as MessageKey, values);
}
