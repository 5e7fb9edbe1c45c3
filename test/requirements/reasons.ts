/** Why no test proves a requirement. */
export interface Reason {
  readonly ids: readonly string[];
  readonly kind: ReasonKind;
  /** Markdown; links are relative to docs/. */
  readonly sentence: string;
}

export type ReasonKind = keyof typeof reasonKinds;

export const reasonKinds = {
  informative: {
    state: "otherwise",
    title: "Informative",
    meaning: "explains, and requires nothing that a test could observe.",
  },
  "not-taken": {
    state: "otherwise",
    title: "Permission not used",
    meaning: "a MAY that Posthorn does not use.",
  },
  elsewhere: {
    state: "otherwise",
    title: "Outside Posthorn",
    meaning: "a requirement for people or for other software.",
  },
  documented: { state: "otherwise", title: "Documented", meaning: "fulfilled by the named page." },
  construction: {
    state: "otherwise",
    title: "By construction",
    meaning: "the code cannot express the case or does not contain it, so no request could show it.",
  },
  deviation: {
    state: "otherwise",
    title: "Done otherwise",
    meaning: "Posthorn deviates on purpose; what it does instead is named.",
  },
  later: { state: "not-built", title: "Not built", meaning: "belongs to a part that does not exist yet." },
} as const;

export const reasons: readonly Reason[] = [
  {
    ids: ["EDS-6.3-1"],
    kind: "documented",
    sentence:
      "[retries and dead letters](retries-and-dead-letters.md) lists the retried outcomes and the time limits.",
  },
  {
    ids: ["EDS-6.4-1"],
    kind: "informative",
    sentence:
      "only HTTP is bound here as well; outcomes and schedules in `src/domain` use statuses, not sockets.",
  },
  {
    ids: ["EDS-7.2-3"],
    kind: "documented",
    sentence:
      "every event is delivered at least once: [ordering and priorities](ordering-and-priorities.md).",
  },
  {
    ids: ["EDS-9-1"],
    kind: "informative",
    sentence: "the sum of the rows from EDS-9.1-1 to EDS-9.9-4.",
  },
  {
    ids: ["EDS-9.1-2"],
    kind: "not-taken",
    sentence: "events are sent only with POST; replacing a resource is not delivering an event.",
  },
  {
    ids: ["EDS-9.9-1"],
    kind: "not-taken",
    sentence:
      "a connection carries one request at a time, over HTTP/2 too, so that a lost one costs one delivery.",
  },
  {
    ids: ["EDS-11.1-1"],
    kind: "informative",
    sentence: "a list of threats; the rows after it are the answers.",
  },
  {
    ids: ["EDS-11.5-6"],
    kind: "not-taken",
    sentence: "early data is never sent (EDS-9.9-3), so no agreement is needed.",
  },
  {
    ids: ["EDS-11.8-2"],
    kind: "informative",
    sentence: "explains the purpose of EDS-9.5-2.",
  },
  {
    ids: ["EDS-B-1"],
    kind: "informative",
    sentence: "a survey of vendors.",
  },
  {
    ids: ["TS16-1"],
    kind: "informative",
    sentence: "Posthorn does both: the server sends, the kit receives.",
  },
  {
    ids: ["TS16-56"],
    kind: "informative",
    sentence: "compares mechanisms; TS16-57, CEW-3-1 and EDS-11.3-2 show which ones exist.",
  },
  {
    ids: ["TS16-70"],
    kind: "not-taken",
    sentence: "source addresses belong to the operator's network; a proxy (TS16-126) provides a fixed one.",
  },
  {
    ids: ["TS16-71"],
    kind: "construction",
    sentence:
      "verifiers of the kit never get the address of the peer, and a receiver cannot be created without a verifier.",
  },
  {
    ids: ["TS16-72"],
    kind: "informative",
    sentence:
      "the sum of TS16-22, TS16-25, TS16-57 and TS16-83, except static source addresses (TS16-70): Posthorn sends from the addresses of its network, and an operator who wants fixed ones routes deliveries through a proxy (`POSTHORN_EGRESS_PROXY`).",
  },
  {
    ids: ["TS16-87"],
    kind: "documented",
    sentence:
      "signing uses `node:crypto`, and the kit uses `node:crypto` or WebCrypto; [signatures](signatures-and-rotation.md) names the libraries for receivers.",
  },
  {
    ids: ["TS16-117"],
    kind: "not-taken",
    sentence:
      "events are sent only over HTTP; owners are notified about their webhooks by mail and chat ([notifications](notifications.md)).",
  },
  {
    ids: ["IDK-1", "IDK-27"],
    kind: "informative",
    sentence: "explains the purpose of the header, and that its name is registered.",
  },
  {
    ids: ["IDK-6"],
    kind: "not-taken",
    sentence: "any key of the published format is accepted; expiry counts from its first use.",
  },
  {
    ids: ["IDK-10", "IDK-11"],
    kind: "construction",
    sentence:
      "a sender cannot read the rules of each receiver: the header is always sent, and its key is a UUID, which every rule of the draft allows.",
  },
  {
    ids: ["CEW-2.1-5"],
    kind: "informative",
    sentence: "says that content and target have no further requirements.",
  },
  {
    ids: ["WDS-37", "WDS-38"],
    kind: "deviation",
    sentence: "Posthorn is one TypeScript program on Node.js, whose roles run in one process or in several.",
  },
  {
    ids: ["WDS-135"],
    kind: "deviation",
    sentence:
      "the window is counted in 60 slots in the memory of the process that owns the webhook; with Redis, a hash of the same counts lets the next owner continue (WDS-36). Its size does not grow with the rate.",
  },
  {
    ids: ["WDS-178"],
    kind: "deviation",
    sentence:
      "a message names the lane, so that a thousand events for a webhook cost one; the next event and its attempt number are in the database and may change while a message waits ([architecture](../ARCHITECTURE.md)).",
  },
  {
    ids: ["WDS-80"],
    kind: "deviation",
    sentence:
      "a turn that the circuit blocks is not an attempt, so `circuit_breaker_prevented` is always false. The whole time that a circuit held a delivery is one entry of its `waits`, with start and end (the test of WDS-182, [architecture](../ARCHITECTURE.md)).",
  },
  {
    ids: ["WDS-203"],
    kind: "informative",
    sentence: "a plan of the document for later versions.",
  },
];
