import type { MessageHandler, ReceiverAnswer } from "../../src/receiver/answers.ts";
import type {
  DeduplicationOptions,
  ReceiverOptions,
  SecurityIncident,
} from "../../src/receiver/receiver-options.ts";
import { createReceiver } from "../../src/receiver/receiver.ts";
import { createMemoryDeduplicationStore } from "../../src/receiver/stores/memory.ts";
import { messageWith, nowMs, trustingVerifier } from "./messages.fixture.ts";

interface EndpointOptions extends Partial<Omit<ReceiverOptions, "deduplication">> {
  readonly deduplication?: Partial<DeduplicationOptions> | false;
}

/** A receiver with a manual clock. Its handler runs and incidents are recorded. */
export function endpointWith({ deduplication = {}, ...options }: EndpointOptions = {}) {
  const seen = { runs: 0, incidents: [] as SecurityIncident[], errors: [] as unknown[], now: nowMs };
  const handler: MessageHandler = (received) => {
    seen.runs += 1;
    return options.handler?.(received);
  };
  const receiver = createReceiver({
    verifier: trustingVerifier,
    now: () => seen.now,
    onSecurityIncident: (incident) => seen.incidents.push(incident),
    onError: (error) => seen.errors.push(error),
    ...options,
    ...(options.inbox === undefined && { handler }),
    deduplication:
      deduplication === false ? false : { store: createMemoryDeduplicationStore(), ...deduplication },
  });
  return {
    seen,
    receiver,
    send: (changes?: Parameters<typeof messageWith>[0]): Promise<ReceiverAnswer> =>
      receiver.handle(messageWith(changes)),
  };
}
