/** English, and the names of all texts. The first line of a message is its subject. */
export const english = {
  "first_problem.subject": "Deliveries to {url} are failing",
  "first_problem.text":
    "Nothing has been accepted by {url} since {since}.\n\nEvents are kept and tried again; nothing is lost.",
  "half_time.subject": "{url} will be switched off on {disabled_at}",
  "half_time.text":
    "Nothing has been accepted by {url} since {since}. If this goes on, the webhook will be switched off on {disabled_at}.\n\nEvents are kept and tried again until then.",
  "last_day.subject": "Last day: {url} will be switched off on {disabled_at}",
  "last_day.text":
    "Nothing has been accepted by {url} since {since}. The webhook will be switched off on {disabled_at}, which is within a day.",
  "disabled.subject": "{url} was switched off",
  "disabled.text":
    "The webhook was switched off, because nothing has been accepted by {url} since {since}.\n\nNo event is sent any more. Once the receiver works, enable the webhook and recover what it missed.",
  "still_failing.subject": "Deliveries to {url} are still failing",
  "still_failing.text":
    "Nothing has been accepted by {url} since {since}. No rule switches this webhook off: events are tried again as their schedule says, and given up after that.",
  "recovered.subject": "{url} works again",
  "recovered.text":
    "{url} accepts events again. It failed for {duration}, from {since}; {failed} requests failed in that time.",
  "circuit_opened.subject": "{url} is left alone for now",
  "circuit_opened.text":
    "So many requests to {url} failed that nothing but single trials is sent. Events wait; they go out once a trial is accepted.",
  "circuit_closed.subject": "{url} is served again",
  "circuit_closed.text": "Trials to {url} were accepted, and all that waited goes out.",
  "attention.subject": "{url} answered in a way that you should know of",
  "attention.text": "An event was answered with {status_code} ({reason}).",
  "exhausted.subject": "An event for {url} was given up",
  "exhausted.text":
    "An event of the type {event_type} was tried {attempts} times and given up ({reason}). It is among the dead letters, from where it can be sent again.",
  "secret_rotated.subject": "{url} has a new signing secret",
  "secret_rotated.text":
    "Events for {url} are signed with a new secret. If this was not you, look at it now.",
  "paused.subject": "{url} was paused",
  "paused.text": "Somebody paused the webhook. Events are kept and go out after that.",
  "resumed.subject": "{url} goes on",
  "resumed.text": "Somebody ended the pause of the webhook. What waited goes out.",
  "limit_reached.subject": "The limit of {value} webhooks is reached",
  "limit_reached.text": "A further webhook was refused, because there are {value}.",
  "problem_opened.subject": "A new problem at {url}",
  "problem_opened.text": "Deliveries to {url} fail in the same way again and again: {reason}.",
  "problem_resolved.subject": "A problem at {url} is over",
  "problem_resolved.text": "Deliveries to {url} do not fail in this way any more: {reason}.",
  "test.subject": "A test of this channel",
  "test.text": "This is what messages look like. Nothing has happened.",
  "confirm.subject": "Confirm that you want messages about webhooks",
  "confirm.text":
    "Somebody who manages webhooks wants messages about them to go to {address}. Open this page and confirm, if that is right.\n\nIf you do not know what this is about, do nothing: no other message is sent to you.",
  "confirm.footer": "This is the only message that {address} gets unless it is confirmed.",
  "confirm.title": "Messages about webhooks",
  "confirm.ask": "Send messages about webhooks to {address}?",
  "confirm.button": "Yes, send them",
  "confirm.done": "{address} gets messages about webhooks from now on. Each has a link that stops them.",
  "limited.subject": "{count} notifications in the last hour",
  "digest.more": "… and {count} more",
  "unsubscribe.again": "{address} gets no messages about webhooks. Start them again?",
  "digest.subject": "{count} messages about webhooks",
  "label.webhook": "Webhook",
  "label.tenant": "Tenant",
  "label.since": "Failing since",
  "label.last_answer": "Last answer",
  "label.waiting": "Waiting",
  "label.next": "Switched off",
  "label.next_attempt": "Next attempt",
  "footer.why": "You get this because {address} is a channel for messages about webhooks.",
  "footer.stop": "Stop these messages: {link}",
  "footer.look": "Look at it: {link}",
  "unsubscribe.title": "No more messages about webhooks",
  "unsubscribe.ask": "Stop messages to {address}?",
  "unsubscribe.button": "Stop them",
  "unsubscribe.done":
    "{address} gets no further messages. You can start them again here, or with the link in any earlier mail.",
} as const;

export type MessageName = keyof typeof english;
