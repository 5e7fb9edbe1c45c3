/** English texts; they define the names of all texts. The first line of a message is its subject. */
export const english = {
  "first_problem.subject": "Deliveries to {url} are failing",
  "first_problem.text":
    "{url} has not accepted anything since {since}.\n\nEvents are kept and retried; nothing is lost.",
  "half_time.subject": "{url} will be disabled on {disabled_at}",
  "half_time.text":
    "{url} has not accepted anything since {since}. If this continues, the webhook will be disabled on {disabled_at}.\n\nEvents are kept and retried until then.",
  "last_day.subject": "Last day: {url} will be disabled on {disabled_at}",
  "last_day.text":
    "{url} has not accepted anything since {since}. The webhook will be disabled on {disabled_at}, which is within a day.",
  "disabled.subject": "{url} was disabled",
  "disabled.text":
    "The webhook was disabled because {url} has not accepted anything since {since}.\n\nEvents are no longer sent. Once the receiver works, enable the webhook and recover what it missed.",
  "still_failing.subject": "Deliveries to {url} are still failing",
  "still_failing.text":
    "{url} has not accepted anything since {since}. No rule disables this webhook: events are retried according to their schedule and then become dead letters.",
  "recovered.subject": "{url} works again",
  "recovered.text":
    "{url} accepts events again. It failed for {duration}, from {since}; {failed} requests failed in that time.",
  "circuit_opened.subject": "The circuit of {url} is open",
  "circuit_opened.text":
    "Too many requests to {url} failed, so only probes are sent for now. Events wait until a probe is accepted.",
  "circuit_closed.subject": "The circuit of {url} is closed again",
  "circuit_closed.text": "Probes to {url} were accepted, so all waiting events are being sent.",
  "attention.subject": "{url} sent a response that needs your attention",
  "attention.text": "The response to an event was {status_code} ({reason}).",
  "exhausted.subject": "An event for {url} is now a dead letter",
  "exhausted.text":
    "An event of the type {event_type} failed after {attempts} attempts ({reason}). It is a dead letter and can be retried from there.",
  "secret_rotated.subject": "{url} has a new signing secret",
  "secret_rotated.text":
    "Events for {url} are signed with a new secret. If this was not you, look into it now.",
  "paused.subject": "{url} was paused",
  "paused.text": "The webhook was paused. Events are kept and will be sent when it is resumed.",
  "resumed.subject": "{url} was resumed",
  "resumed.text": "The webhook was resumed. Waiting events are being sent.",
  "limit_reached.subject": "The limit of {value} webhooks is reached",
  "limit_reached.text": "A new webhook was refused because there are already {value}.",
  "problem_opened.subject": "A new problem at {url}",
  "problem_opened.text": "Deliveries to {url} keep failing in the same way: {reason}.",
  "problem_resolved.subject": "A problem at {url} is resolved",
  "problem_resolved.text": "Deliveries to {url} no longer fail in this way: {reason}.",
  "test.subject": "A test of this channel",
  "test.text": "This is what messages look like. No action is needed.",
  "confirm.subject": "Confirm that you want messages about webhooks",
  "confirm.text":
    "A person who manages webhooks wants to send messages about them to {address}. If that is right, open this page and confirm.\n\nIf you do not know what this is about, ignore this mail: you will not get another one.",
  "confirm.footer": "This is the only message to {address} unless it is confirmed.",
  "confirm.title": "Messages about webhooks",
  "confirm.ask": "Send messages about webhooks to {address}?",
  "confirm.button": "Yes, send them",
  "confirm.done": "{address} now gets messages about webhooks. Each has a link to unsubscribe.",
  "limited.subject": "{count} notifications in the last hour",
  "digest.more": "… and {count} more",
  "unsubscribe.again": "{address} gets no messages about webhooks. Subscribe again?",
  "digest.subject": "{count} messages about webhooks",
  "label.webhook": "Webhook",
  "label.tenant": "Tenant",
  "label.since": "Failing since",
  "label.last_answer": "Last response",
  "label.waiting": "Waiting",
  "label.next": "Will be disabled",
  "label.next_attempt": "Next attempt",
  "footer.why": "You get this because {address} is a channel for messages about webhooks.",
  "footer.stop": "Unsubscribe: {link}",
  "footer.look": "Details: {link}",
  "unsubscribe.title": "Unsubscribe from messages about webhooks",
  "unsubscribe.ask": "Stop messages to {address}?",
  "unsubscribe.button": "Unsubscribe",
  "unsubscribe.done":
    "{address} gets no further messages. You can subscribe again here, or with the link in any earlier mail.",
} as const;

export type MessageName = keyof typeof english;
