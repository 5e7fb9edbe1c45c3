/** Why no test proves a row. */
export interface Reason {
  readonly ids: readonly string[];
  readonly kind: ReasonKind;
  /** Markdown; links are relative to docs/. */
  readonly sentence: string;
}

export type ReasonKind = keyof typeof reasonKinds;

export const reasonKinds = {
  informative: { title: "Informative", meaning: "explains, and asks for nothing that could be seen." },
  "not-taken": { title: "Permission not used", meaning: "a MAY that Posthorn does without." },
  elsewhere: { title: "Somebody else's", meaning: "a duty of people or of software that is not Posthorn." },
  documented: { title: "Documented", meaning: "fulfilled by a page, which is named." },
  construction: {
    title: "By construction",
    meaning: "the thing cannot be expressed in the code, or is absent from it; no request would show it.",
  },
  later: { title: "Not built yet", meaning: "belongs to a part that does not exist yet." },
} as const;

export const reasons: readonly Reason[] = [];
