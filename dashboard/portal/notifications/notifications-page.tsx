import { t } from "../language.ts";
import { Channels } from "./channels.tsx";
import { SentMessages } from "./sent-messages.tsx";

/** Notification channels and sent messages. */
export function NotificationsPage() {
  return (
    <>
      <Channels about={null} addText={t("told.add")}>
        <h1>{t("told.title")}</h1>
      </Channels>
      <SentMessages />
    </>
  );
}

/** Notification channels of one endpoint. */
export function EndpointChannels({ webhookId }: { readonly webhookId: string }) {
  return (
    <Channels about={webhookId} addText={t("told.here.add")}>
      <h2>{t("told.title")}</h2>
    </Channels>
  );
}
