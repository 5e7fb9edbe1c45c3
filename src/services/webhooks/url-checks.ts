import { judgeUrl, type UrlRefusalCode, type UrlRules } from "../../core/egress/url-policy.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Scope } from "../services.ts";
import { isVisible, seesWebhook } from "../scope.ts";

/** Whether the URL is valid for a webhook. Success says nothing about the addresses that its name resolves to. */
export interface UrlCheck {
  readonly code: UrlRefusalCode | null;
  /** An explanation that does not repeat the URL; null if it is valid. */
  readonly detail: string | null;
  /** A webhook of the same tenant with this URL. */
  readonly duplicateOf: string | null;
}

/** Validates a URL before anything is saved, for example while it is typed into a form. */
export class UrlChecks {
  readonly #options: { readonly access: Pick<EngineAccess, "webhooks">; readonly urlRules: UrlRules };

  constructor(options: { readonly access: Pick<EngineAccess, "webhooks">; readonly urlRules: UrlRules }) {
    this.#options = options;
  }

  check(scope: Scope, text: string): UrlCheck {
    const { access, urlRules } = this.#options;
    const judgement = judgeUrl(text, urlRules);
    if (judgement.kind === "refused") {
      const { code, detail } = judgement;
      return { code, detail, duplicateOf: null };
    }
    const isSame = (webhook: { readonly url: string }) => webhook.url === judgement.url;
    const duplicate = Iterator.from(access.webhooks()).find(
      (live) =>
        isSame(live.webhook) &&
        isVisible(scope, live.webhook.tenantId) &&
        seesWebhook(scope, live.webhook.id),
    );
    return { code: null, detail: null, duplicateOf: duplicate?.webhook.id ?? null };
  }
}
