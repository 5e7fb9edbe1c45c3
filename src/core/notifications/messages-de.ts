import type { MessageName } from "./messages-en.ts";

export const german: Readonly<Record<MessageName, string>> = {
  "first_problem.subject": "Zustellungen an {url} schlagen fehl",
  "first_problem.text":
    "Seit {since} hat {url} nichts mehr angenommen.\n\nEreignisse werden aufbewahrt und erneut versucht; es geht nichts verloren.",
  "half_time.subject": "{url} wird am {disabled_at} abgeschaltet",
  "half_time.text":
    "Seit {since} hat {url} nichts mehr angenommen. Bleibt es dabei, wird der Webhook am {disabled_at} abgeschaltet.\n\nBis dahin werden Ereignisse aufbewahrt und erneut versucht.",
  "last_day.subject": "Letzter Tag: {url} wird am {disabled_at} abgeschaltet",
  "last_day.text":
    "Seit {since} hat {url} nichts mehr angenommen. Der Webhook wird am {disabled_at} abgeschaltet, also binnen eines Tages.",
  "disabled.subject": "{url} wurde abgeschaltet",
  "disabled.text":
    "Der Webhook wurde abgeschaltet, weil {url} seit {since} nichts mehr angenommen hat.\n\nEs wird nichts mehr gesendet. Sobald der Empfänger wieder läuft: Webhook einschalten und Verpasstes nachholen.",
  "still_failing.subject": "Zustellungen an {url} schlagen weiter fehl",
  "still_failing.text":
    "Seit {since} hat {url} nichts mehr angenommen. Keine Regel schaltet diesen Webhook ab: Ereignisse werden nach ihrem Plan erneut versucht und danach aufgegeben.",
  "recovered.subject": "{url} funktioniert wieder",
  "recovered.text":
    "{url} nimmt wieder Ereignisse an. Es fiel {duration} lang aus, seit {since}; in dieser Zeit schlugen {failed} Anfragen fehl.",
  "circuit_opened.subject": "An {url} wird vorerst nur probeweise gesendet",
  "circuit_opened.text":
    "So viele Anfragen an {url} schlugen fehl, dass nur noch einzelne Versuche gesendet werden. Ereignisse warten, bis ein Versuch angenommen wird.",
  "circuit_closed.subject": "{url} wird wieder beliefert",
  "circuit_closed.text": "Versuche an {url} wurden angenommen; wartende Ereignisse werden gesendet.",
  "attention.subject": "{url} hat eine Antwort gesendet, die Sie prüfen sollten",
  "attention.text": "Ein Ereignis wurde mit {status_code} beantwortet ({reason}).",
  "exhausted.subject": "Ein Ereignis für {url} wurde aufgegeben",
  "exhausted.text":
    "Ein Ereignis vom Typ {event_type} wurde nach {attempts} Versuchen aufgegeben ({reason}). Es liegt bei den unzustellbaren und kann von dort erneut gesendet werden.",
  "secret_rotated.subject": "{url} hat ein neues Geheimnis",
  "secret_rotated.text":
    "Ereignisse für {url} werden mit einem neuen Geheimnis signiert. Waren Sie das nicht, sehen Sie bitte sofort nach.",
  "paused.subject": "{url} wurde angehalten",
  "paused.text": "Der Webhook wurde angehalten. Ereignisse werden aufbewahrt und danach gesendet.",
  "resumed.subject": "{url} läuft weiter",
  "resumed.text": "Die Pause des Webhooks wurde beendet. Wartende Ereignisse werden gesendet.",
  "limit_reached.subject": "Die Grenze von {value} Webhooks ist erreicht",
  "limit_reached.text": "Ein weiterer Webhook wurde abgelehnt, denn es gibt schon {value}.",
  "problem_opened.subject": "Ein neues Problem bei {url}",
  "problem_opened.text": "Zustellungen an {url} schlagen immer wieder auf dieselbe Weise fehl: {reason}.",
  "problem_resolved.subject": "Ein Problem bei {url} ist vorbei",
  "problem_resolved.text": "Zustellungen an {url} schlagen nicht mehr auf diese Weise fehl: {reason}.",
  "test.subject": "Eine Probe dieses Kanals",
  "test.text": "So sehen Nachrichten aus. Sie müssen nichts tun.",
  "confirm.subject": "Bestätigen Sie, dass Sie Nachrichten über Webhooks möchten",
  "confirm.text":
    "Jemand, der Webhooks verwaltet, möchte Nachrichten darüber an {address} senden. Öffnen Sie diese Seite und bestätigen Sie es, wenn das stimmt.\n\nWenn Sie nicht wissen, worum es geht, tun Sie nichts: Sie erhalten keine weitere Nachricht.",
  "confirm.footer": "Dies ist die einzige Nachricht an {address}, solange die Adresse nicht bestätigt ist.",
  "confirm.title": "Nachrichten über Webhooks",
  "confirm.ask": "Nachrichten über Webhooks an {address} senden?",
  "confirm.button": "Ja, senden",
  "confirm.done":
    "{address} erhält von jetzt an Nachrichten über Webhooks. In jeder steht ein Link, der sie beendet.",
  "limited.subject": "{count} Nachrichten in der letzten Stunde",
  "digest.more": "… und {count} weitere",
  "unsubscribe.again": "{address} erhält keine Nachrichten über Webhooks. Wieder senden?",
  "digest.subject": "{count} Nachrichten über Webhooks",
  "label.webhook": "Webhook",
  "label.tenant": "Mandant",
  "label.since": "Fehlerhaft seit",
  "label.last_answer": "Letzte Antwort",
  "label.waiting": "Es warten",
  "label.next": "Abschaltung",
  "label.next_attempt": "Nächster Versuch",
  "footer.why": "Sie erhalten dies, weil {address} ein Kanal für Nachrichten über Webhooks ist.",
  "footer.stop": "Keine solchen Nachrichten mehr: {link}",
  "footer.look": "Ansehen: {link}",
  "unsubscribe.title": "Keine Nachrichten über Webhooks mehr",
  "unsubscribe.ask": "Nachrichten an {address} beenden?",
  "unsubscribe.button": "Beenden",
  "unsubscribe.done":
    "{address} erhält keine Nachrichten mehr. Sie können sie hier oder mit dem Link in einer früheren Nachricht wieder anfordern.",
};
