import { type Signal, useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { announce } from "../../shared/ui/announcer.tsx";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { type MessageKey, t } from "../language.ts";
import { checkRequest, type Finding, type Mac } from "./request-check.ts";

const tones: Readonly<Record<Finding["state"], Tone>> = { passed: "good", failed: "bad", hint: "wait" };

/** HMAC of the browser, available only on https and localhost. */
const browserMac: Mac = async (key, content) => {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, new TextEncoder().encode(content)));
};

/** Finds out why a pasted request fails the customer's own check. Nothing is sent to the server. */
export function PasteRequest() {
  const [headers, body, secret, computed] = [useSignal(""), useSignal(""), useSignal(""), useSignal("")];
  const findings = useSignal<readonly Finding[] | null>(null);
  const check = async () => {
    const pasted = {
      headers: headers.value,
      body: body.value,
      secret: secret.value,
      computed: computed.value,
    };
    findings.value = await checkRequest(pasted, { mac: browserMac, now: Date.now() });
    const failed = findings.value.find(({ state }) => state === "failed");
    announce(failed === undefined ? t("paste.fine") : textOf(failed));
  };
  if (!window.isSecureContext) return null;
  return (
    <section class="panel">
      <h2>{t("paste.title")}</h2>
      <p>{t("paste.text")}</p>
      <form
        class="form"
        autocomplete="off"
        onSubmit={(event) => {
          event.preventDefault();
          void check();
        }}
      >
        <TextArea label={t("paste.headers")} value={headers} placeholder={placeholder} />
        <TextArea label={t("paste.body")} value={body} placeholder={'{"type":"…","data":{…}}'} />
        <Secret label={t("secret.title")} value={secret} note={t("paste.secret.hint")} />
        <Line label={t("paste.computed")} value={computed} note={t("paste.computed.hint")} />
        <p class="actions">
          <button type="submit" class="primary">
            {t("paste.check")}
          </button>
        </p>
      </form>
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

const placeholder = "webhook-id: …\nwebhook-timestamp: …\nwebhook-signature: v1,…";

function textOf({ what, values }: Finding): string {
  return t(`paste.${what}` as MessageKey, values);
}

function TextArea(props: {
  readonly label: string;
  readonly value: Signal<string>;
  readonly placeholder: string;
}) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{props.label}</label>
      <textarea
        id={id}
        rows={5}
        dir="ltr"
        spellcheck={false}
        required
        placeholder={props.placeholder}
        value={props.value.value}
        onInput={({ currentTarget }) => (props.value.value = currentTarget.value)}
      />
    </p>
  );
}

interface LineProps {
  readonly label: string;
  readonly value: Signal<string>;
  readonly note: string;
}

function Secret({ label, value, note }: LineProps) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="password"
        autocomplete="off"
        required
        value={value.value}
        aria-describedby={`${id}-note`}
        onInput={({ currentTarget }) => (value.value = currentTarget.value)}
      />
      <span id={`${id}-note`} class="soft">
        {note}
      </span>
    </p>
  );
}

function Line({ label, value, note }: LineProps) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        dir="ltr"
        spellcheck={false}
        value={value.value}
        aria-describedby={`${id}-note`}
        onInput={({ currentTarget }) => (value.value = currentTarget.value)}
      />
      <span id={`${id}-note`} class="soft">
        {note}
      </span>
    </p>
  );
}
