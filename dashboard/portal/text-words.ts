import { t } from "./language.ts";

/** Translated labels of `TextView`. */
export function textWords() {
  return { asSent: t("text.asSent"), copy: t("copy"), copied: t("copied") };
}
