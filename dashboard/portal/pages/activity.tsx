import { DeliveryList } from "../delivery-list.tsx";
import { t } from "../language.ts";

export function ActivityPage() {
  return (
    <>
      <h1>{t("activity.title")}</h1>
      <section class="panel">
        <DeliveryList webhookId={null} caption={t("activity.title")} />
      </section>
    </>
  );
}
