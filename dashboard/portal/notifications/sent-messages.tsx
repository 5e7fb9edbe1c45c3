import { useApi } from "../../shared/queries.ts";
import type { Page } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { t } from "../language.ts";
import { When } from "../when.tsx";

interface Sent {
  readonly id: string;
  readonly subject: string;
  readonly state: "waiting" | "sent" | "handed_over" | "failed" | "dropped";
  readonly created_at: string;
}

const tones: Readonly<Record<Sent["state"], Tone>> = {
  waiting: "wait",
  sent: "good",
  handed_over: "good",
  failed: "bad",
  dropped: "off",
};

/** The newest messages with their state. */
export function SentMessages() {
  const { data } = useApi<Page<Sent>>({ path: "v1/notifications", query: { limit: 20 } });
  const rows = data?.data ?? [];
  if (rows.length === 0) return null;
  return (
    <section class="panel">
      <h2>{t("told.sent")}</h2>
      <table class="messages">
        <caption class="off-screen">{t("told.sent")}</caption>
        <thead>
          <tr>
            <th scope="col">{t("told.subject")}</th>
            <th scope="col">{t("column.result")}</th>
            <th scope="col">{t("column.when")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ id, subject, state, created_at: at }) => (
            <tr key={id}>
              <th scope="row" dir="auto">
                {subject}
              </th>
              <td data-title={t("column.result")}>
                <Badge tone={tones[state]} text={t(`told.sent.${state}`)} />
              </td>
              <td data-title={t("column.when")}>
                <When at={at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
