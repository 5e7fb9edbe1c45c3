/** Severity of a state. Each tone has a badge shape. */
export type Tone = "good" | "wait" | "bad" | "held" | "off" | "new";
