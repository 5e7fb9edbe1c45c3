import { createHash } from "node:crypto";
import { InvalidRequestError, NotFoundError, PosthornError } from "../../domain/errors.ts";
import { changedAt } from "../../domain/webhook.ts";
import {
  type LogoPlace,
  type LogoScheme,
  logoSchemes,
  type PortalLogo,
  type PortalSession,
  type PortalSettings,
} from "../../ports/store/portal.ts";
import { portalSettingsFields, type PortalSettingsInput } from "../../resources/portal.ts";
import { validFields } from "../input.ts";
import { KeyedQueue } from "../keyed-queue.ts";
import type { FeatureContext, Scope } from "../services.ts";
import { logoBytesMax, logoTypeOf, mergedTheme, themeCss, type WholeTheme } from "./look.ts";

/** The theme and logos of one session. */
export interface PortalLook {
  readonly theme: WholeTheme;
  readonly css: string;
  /** Changes when the style changes. */
  readonly cssVersion: string;
  readonly logos: Readonly<Record<LogoScheme, LogoView | null>>;
}

export interface LogoView extends PortalLogo {
  /** Changes when the image changes. */
  readonly version: string;
}

/** The settings of one level: the deployment or a tenant. */
interface Level {
  readonly settings: PortalSettings;
  readonly logos: Readonly<Record<LogoScheme, LogoView | null>>;
}

const rememberedMax = 1_000;
const rememberedMs = 60_000;

/**
 * Portal settings at three levels. A tenant's settings override those of the deployment, and a session's settings
 * override those of its tenant.
 */
export class PortalLooks {
  readonly #context: FeatureContext;
  readonly #remembered = new Map<string, { readonly level: Promise<Level>; readonly readAt: number }>();
  readonly #changes = new KeyedQueue();

  constructor(context: FeatureContext) {
    this.#context = context;
  }

  /**
   * The settings of one level as saved. Only administrators can read the deployment's settings, with `tenantId` null.
   */
  async get(scope: Scope, tenantId: string | null): Promise<Level> {
    this.#require(scope, tenantId);
    return this.#level(tenantId);
  }

  /** Omitted fields keep their values. */
  async put(scope: Scope, tenantId: string | null, input: PortalSettingsInput) {
    this.#require(scope, tenantId);
    const read = validFields(portalSettingsFields, input, "the settings");
    await this.#changes.run(tenantId ?? "", async () => {
      const {
        clock,
        store: { portal: store },
      } = this.#context;
      const before = await this.#stored(tenantId);
      const settings = { ...before, ...read, updatedAt: changedAt(before.updatedAt, clock.now()) };
      await store.saveSettings(settings, scope.audit?.take({ id: tenantId ?? "deployment", tenantId }));
      this.forget();
    });
    return this.#level(tenantId);
  }

  async putLogo(scope: Scope, place: LogoPlace, bytes: Uint8Array) {
    this.#require(scope, place.tenantId);
    const mediaType = logoTypeOf(bytes);
    if (mediaType === null) {
      throw new InvalidRequestError(
        `A logo must be a PNG or WebP image of up to ${logoBytesMax} bytes and 4,096 pixels per side.`,
        [{ field: "", message: "is not a valid image" }],
      );
    }
    await this.#saveLogo(scope, place, { mediaType, bytes });
  }

  async removeLogo(scope: Scope, place: LogoPlace): Promise<void> {
    this.#require(scope, place.tenantId);
    await this.#saveLogo(scope, place, null);
  }

  async #saveLogo(scope: Scope, place: LogoPlace, logo: PortalLogo | null): Promise<void> {
    const { tenantId } = place;
    const audit = scope.audit?.take({ id: tenantId ?? "deployment", tenantId });
    await this.#context.store.portal.saveLogo(place, logo, audit);
    this.forget();
  }

  /** The effective settings of a tenant: its own settings, with the deployment's as defaults. */
  async settings(tenantId: string): Promise<Pick<PortalSettings, "origins" | "capabilities">> {
    const [deployment, own] = await this.#levels(tenantId);
    return {
      origins: own.settings.origins ?? deployment.settings.origins,
      capabilities: own.settings.capabilities ?? deployment.settings.capabilities,
    };
  }

  /** The appearance of a session's portal. Null selects the appearance that is shown before a session exists. */
  async look(session: Pick<PortalSession, "tenantId" | "theme"> | null): Promise<PortalLook> {
    const levels = session === null ? [await this.#level(null)] : await this.#levels(session.tenantId);
    const theme = mergedTheme([...levels.map(({ settings }) => settings.theme), session?.theme]);
    const css = themeCss(theme);
    const logoOf = (scheme: LogoScheme) =>
      levels.map(({ logos }) => logos[scheme]).findLast((logo) => logo !== null) ?? null;
    return {
      theme,
      css,
      cssVersion: versionOf(css),
      logos: { light: logoOf("light"), dark: logoOf("dark") ?? logoOf("light") },
    };
  }

  /** Origins that may embed the portal in a frame: the origin of the session and the origins in the settings. */
  async framers(session: Pick<PortalSession, "tenantId" | "origin"> | null): Promise<readonly string[]> {
    if (session === null) return (await this.#level(null)).settings.origins ?? [];
    const { origins } = await this.settings(session.tenantId);
    return [...new Set([...(session.origin === null ? [] : [session.origin]), ...(origins ?? [])])];
  }

  /** Called after a change by this or another process. */
  forget(): void {
    this.#remembered.clear();
  }

  async #levels(tenantId: string): Promise<readonly [deployment: Level, own: Level]> {
    return [await this.#level(null), await this.#level(tenantId)];
  }

  #level(tenantId: string | null): Promise<Level> {
    const { clock } = this.#context;
    const key = tenantId ?? "";
    const known = this.#remembered.get(key);
    if (known !== undefined && Math.abs(clock.now() - known.readAt) < rememberedMs) return known.level;
    if (this.#remembered.size >= rememberedMax) this.#remembered.clear();
    const level = this.#read(tenantId);
    this.#remembered.set(key, { level, readAt: clock.now() });
    level.catch(() => this.#remembered.delete(key));
    return level;
  }

  async #read(tenantId: string | null): Promise<Level> {
    const {
      store: { portal: store },
    } = this.#context;
    const [light, dark] = await Promise.all(
      logoSchemes.map(async (scheme) => {
        const logo = await store.logo({ tenantId, scheme });
        return logo === null ? null : Object.assign(logo, { version: versionOf(logo.bytes) });
      }),
    );
    return { settings: await this.#stored(tenantId), logos: { light: light ?? null, dark: dark ?? null } };
  }

  async #stored(tenantId: string | null): Promise<PortalSettings> {
    const nothing = { tenantId, theme: null, origins: null, capabilities: null, updatedAt: 0 };
    return (await this.#context.store.portal.settings(tenantId)) ?? nothing;
  }

  #require(scope: Scope, tenantId: string | null): void {
    if (tenantId === null) {
      if (scope.tenantId !== null)
        throw new PosthornError(
          "forbidden",
          "only an administrator can access the settings of the deployment",
        );
      return;
    }
    const isOther = scope.tenantId !== null && scope.tenantId !== tenantId;
    if (isOther || !this.#context.tenants.has(tenantId)) throw new NotFoundError("the tenant");
  }
}

function versionOf(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex").slice(0, 12);
}
