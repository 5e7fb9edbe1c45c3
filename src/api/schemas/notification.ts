import {
  channelSetFields,
  channelShown,
  notificationFilters,
  notificationShown,
} from "../../core/fields/notification-channel.ts";
import { channelKinds } from "../../core/notifications/notification.ts";
import { closed, idSchema, listingQuery, listOf, oneOf } from "./building-blocks.ts";
import { schemaOf, shownSchemaOf } from "./field-schema.ts";
import { Type } from "./type.ts";

export const channelSetInputSchema = schemaOf(channelSetFields, {
  title: "NotificationChannelsInput",
  examples: [
    {
      channels: [
        { kind: "email", address: "ada@example.com", time_zone: "Europe/Berlin", language: "de" },
        {
          kind: "slack",
          url: "https://hooks.slack.com/services/T0/B0/secret",
          topics: ["disabled", "circuit"],
        },
      ],
    },
  ],
});

const channelSchema = shownSchemaOf(channelShown, { title: "NotificationChannel" });
export const channelListSchema = closed(
  {
    data: Type.Array(channelSchema),
    kinds: Type.Array(oneOf(channelKinds), {
      description: "Channel kinds that this deployment supports; `email` requires a mail server.",
    }),
  },
  { title: "NotificationChannelList" },
);
export const channelTestSchema = closed(
  { notification_id: idSchema("the message") },
  { title: "NotificationTest" },
);
export const notificationQuerySchema = listingQuery(notificationFilters);
export const notificationListSchema = listOf(
  shownSchemaOf(notificationShown, { title: "Notification" }),
  "NotificationList",
);
