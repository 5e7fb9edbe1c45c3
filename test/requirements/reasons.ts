/** Why no test proves a row. */
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
    meaning: "explains, and asks for nothing that could be seen.",
  },
  "not-taken": {
    state: "otherwise",
    title: "Permission not used",
    meaning: "a MAY that Posthorn does without.",
  },
  elsewhere: {
    state: "otherwise",
    title: "Somebody else's",
    meaning: "a duty of people or of software that is not Posthorn.",
  },
  documented: { state: "otherwise", title: "Documented", meaning: "fulfilled by a page, which is named." },
  construction: {
    state: "otherwise",
    title: "By construction",
    meaning: "the thing cannot be expressed in the code, or is absent from it; no request would show it.",
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
    sentence: "[retries and dead letters](retries-and-dead-letters.md) says what is retried, and until when.",
  },
  {
    ids: ["EDS-6.4-1"],
    kind: "informative",
    sentence:
      "only HTTP is bound here as well; outcomes and schedules in `src/core` know statuses, not sockets.",
  },
  {
    ids: ["EDS-7.2-3"],
    kind: "documented",
    sentence: "every delivery is made at least once: [ordering and priorities](ordering-and-priorities.md).",
  },
  {
    ids: ["EDS-9-1"],
    kind: "informative",
    sentence: "the sum of the rows from EDS-9.1-1 to EDS-9.9-4.",
  },
  {
    ids: ["EDS-9.1-2"],
    kind: "not-taken",
    sentence: "events are sent with POST alone; replacing a resource is no delivery of an event.",
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
    sentence: "no early data is ever sent (EDS-9.9-3), so there is nothing to agree on.",
  },
  {
    ids: ["EDS-11.8-2"],
    kind: "informative",
    sentence: "says what EDS-9.5-2 is good for.",
  },
  {
    ids: ["EDS-B-1"],
    kind: "informative",
    sentence: "a survey of what vendors do.",
  },
  {
    ids: ["TS16-1"],
    kind: "informative",
    sentence: "Posthorn does both: the server sends, the kit receives.",
  },
  {
    ids: ["TS16-56"],
    kind: "informative",
    sentence: "compares mechanisms; which ones are there is shown at TS16-57, CEW-3-1 and EDS-11.3-2.",
  },
  {
    ids: ["TS16-70"],
    kind: "not-taken",
    sentence:
      "addresses belong to the network of whoever runs the server; a proxy (TS16-126) gives one that stays.",
  },
  {
    ids: ["TS16-71"],
    kind: "construction",
    sentence:
      "no verifier of the kit is told the address of its peer, and a receiver cannot be made without one.",
  },
  {
    ids: ["TS16-72"],
    kind: "informative",
    sentence:
      "the sum of TS16-22, TS16-25, TS16-57 and TS16-83, but for static source addresses (TS16-70): Posthorn sends from the addresses that its network has, and an operator who wants fixed ones routes deliveries through a proxy (`POSTHORN_EGRESS_PROXY`).",
  },
  {
    ids: ["TS16-87"],
    kind: "documented",
    sentence:
      "signing uses `node:crypto`, the kit that or WebCrypto; [signatures](signatures-and-rotation.md) names the libraries for receivers.",
  },
  {
    ids: ["TS16-117"],
    kind: "not-taken",
    sentence:
      "events go over HTTP alone; owners are told of their webhooks by mail and chat ([notifications](notifications.md)).",
  },
  {
    ids: ["IDK-1", "IDK-27"],
    kind: "informative",
    sentence: "says what the header is for, and that its name is registered.",
  },
  {
    ids: ["IDK-6"],
    kind: "not-taken",
    sentence: "any key of the published format is taken; expiry counts from its first use.",
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
    sentence: "says that nothing more is asked of content and target.",
  },
  {
    ids: ["WDS-37", "WDS-38"],
    kind: "deviation",
    sentence: "Posthorn is one TypeScript program on Node.js, whose roles run together or apart.",
  },
  {
    ids: ["WDS-135"],
    kind: "deviation",
    sentence:
      "the window is counted in 60 slots in the memory of the process that owns the webhook; in Redis, where there is one, a hash of the same counts lets the next owner go on (WDS-36). Its size does not grow with the rate.",
  },
  {
    ids: ["WDS-178"],
    kind: "deviation",
    sentence:
      "a message names the lane, so that a thousand events for a webhook cost one; which event is next and its attempt number stand in the database and may change while a message waits ([architecture](../ARCHITECTURE.md)).",
  },
  {
    ids: ["WDS-80"],
    kind: "deviation",
    sentence:
      "no attempt is made of a turn that the circuit blocks, so that `circuit_breaker_prevented` is always false: the whole time that a circuit held a delivery is one entry of its `waits`, from when to when (the test of WDS-182, [architecture](../ARCHITECTURE.md)).",
  },
  {
    ids: ["WDS-203"],
    kind: "informative",
    sentence: "a plan of the document for later versions.",
  },
];
