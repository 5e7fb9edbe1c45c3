export type { Tone } from "./badge.tsx";
