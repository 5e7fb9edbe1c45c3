import type { DeliveryDetail } from "../../shared/resources.ts";
import { EventContent } from "../event/event-content.tsx";
import { SidePanel } from "../side-panel.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { Attempts, Verdict } from "./delivery-view.tsx";

/** Side panel of the list: enough to understand a delivery and to act on it. */
export function DeliveryPanel({ id }: { readonly id: string }) {
  return (
    <SidePanel<DeliveryDetail> what="Delivery" collection="deliveries" id={id} nameOf={nameOfDelivery}>
      {(delivery) => (
        <>
          <p>
            to <WebhookLink id={delivery.webhook_id} url={null} />
          </p>
          <Verdict delivery={delivery} />
          <Attempts key={id} delivery={delivery} />
          <EventContent id={delivery.event_id} />
        </>
      )}
    </SidePanel>
  );
}

const nameOfDelivery = ({ event_type }: DeliveryDetail): string => event_type ?? "Delivery";
