/** How good or bad a state is; a badge has a shape for each. */
export type Tone = "good" | "wait" | "bad" | "held" | "off" | "new";
