import type { PayloadFormatName } from "../profile.ts";
import { renderCloudEventBinary, renderCloudEventStructured } from "./cloudevents.ts";
import type { EventContent, PayloadRenderer, RenderedContent } from "./content.ts";
import { renderData } from "./data.ts";
import { renderStandard } from "./standard.ts";
import { renderStandardThin } from "./standard-thin.ts";
import { renderXWebhook } from "./x-webhook.ts";

const renderers: Readonly<Record<PayloadFormatName, PayloadRenderer>> = {
  standard: renderStandard,
  data: renderData,
  "x-webhook": renderXWebhook,
  "cloudevents-structured": renderCloudEventStructured,
  "cloudevents-binary": renderCloudEventBinary,
  "standard-thin": renderStandardThin,
};

/** The message of an event in a format: the same for every attempt of all its deliveries. */
export function renderPayload(format: PayloadFormatName, content: EventContent): RenderedContent {
  return renderers[format](content);
}
