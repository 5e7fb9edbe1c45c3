import { t } from "./language.ts";

/** Of the viewer of texts. */
export function textWords() {
  return { asSent: t("text.asSent"), copy: t("copy"), copied: t("copied") };
}
