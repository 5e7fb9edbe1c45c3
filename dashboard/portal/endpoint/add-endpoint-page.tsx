import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import type { Webhook } from "../../shared/resources.ts";
import { tellHost } from "../shell/host.ts";
import { t } from "../shell/language.ts";
import { Form } from "../shell/parts.tsx";
import { portalPath } from "../shell/paths.ts";
import { may, noun } from "../shell/session.ts";
import { draftBody, EndpointFields, useDraft } from "./endpoint-form.tsx";
import { ShownSecret } from "./secrets.tsx";
import { SendTest } from "./send-test.tsx";

export function AddEndpointPage() {
  const made = useSignal<Webhook | null>(null);
  const asked = new URLSearchParams(location.search).get("event");
  if (made.value !== null) return <Made webhook={made.value} />;
  return (
    <>
      <h1>{noun("add")}</h1>
      <AddForm first={asked === null ? [] : [asked]} onMade={(webhook) => (made.value = webhook)} />
    </>
  );
}

function AddForm(props: { readonly first: readonly string[]; readonly onMade: (webhook: Webhook) => void }) {
  const draft = useDraft({ url: "", events: [...props.first], description: "" });
  const lacksEvents = useSignal(false);
  const add = async () => {
    lacksEvents.value = draft.events.value.length === 0;
    if (lacksEvents.value) return;
    const body = draftBody(draft);
    const { value } = await callApi<Webhook>({ method: "POST", path: "v1/webhooks", body });
    tellHost({ type: "posthorn:endpoint-created", id: value.id });
    props.onMade(value);
    await refreshAll();
  };
  return (
    <Form
      class="panel form"
      label={noun("add")}
      tools={<a href={portalPath("")}>{t("cancel")}</a>}
      send={add}
    >
      <EndpointFields draft={draft} except={null} />
      {lacksEvents.value && draft.events.value.length === 0 && (
        <p role="alert" class="bad-text">
          {t("field.events.none")}
        </p>
      )}
    </Form>
  );
}

/** Shows the secret once and offers a test. */
function Made({ webhook }: { readonly webhook: Webhook }) {
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus(), []);
  return (
    <>
      <h1 ref={title} tabIndex={-1}>
        {t("made.title")}
      </h1>
      <p class="card-url">{webhook.url}</p>
      {webhook.secret !== null && (
        <section class="panel">
          <h2>{t("secret.title")}</h2>
          <p>{t("secret.once")}</p>
          <ShownSecret secret={webhook.secret} isKept />
          <p>
            <a href={portalPath("help", { endpoint: webhook.id })}>{t("help.verify.link")}</a>
          </p>
        </section>
      )}
      {may("test:send") && (
        <section class="panel">
          <h2>{t("test.title")}</h2>
          <p>{t("test.text")}</p>
          <SendTest webhook={webhook} />
        </section>
      )}
      <p>
        <a href={portalPath(`endpoints/${webhook.id}`)}>{noun("title.one")}</a>
      </p>
    </>
  );
}
