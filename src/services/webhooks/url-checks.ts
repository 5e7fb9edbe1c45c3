import { judgeUrl, type UrlRefusalCode, type UrlRules } from "../../core/egress/url-policy.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Scope } from "../services.ts";
import { isVisible, seesWebhook } from "../scope.ts";

/** Whether a webhook could be made with this URL. A good answer says nothing of what its name resolves to. */
export interface UrlCheck {
  readonly code: UrlRefusalCode | null;
  /** A sentence that does not repeat the URL; null where it is acceptable. */
  readonly detail: string | null;
  /** A webhook of the same tenant that has it. */
  readonly duplicateOf: string | null;
}

/** Judges a URL before anything is saved, as a form does while somebody types. */
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
    const isSame = ({ webhook }: { readonly webhook: { readonly url: string } }) =>
      webhook.url === judgement.url;
    const duplicate = Iterator.from(access.webhooks()).find(
      (live) => isSame(live) && isVisible(scope, live.webhook) && seesWebhook(scope, live.webhook.id),
    );
    return { code: null, detail: null, duplicateOf: duplicate?.webhook.id ?? null };
  }
}
