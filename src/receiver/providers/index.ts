/** Verifiers for well-known webhook senders. */
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import type { MessageVerifier } from "../message/message.ts";
import {
  type AdyenOptions,
  createAdyenVerifier,
  createMailgunVerifier,
  type MailgunOptions,
} from "./body-signatures.ts";
import {
  createMandrillVerifier,
  createTwilioVerifier,
  type MandrillOptions,
  type TwilioOptions,
} from "./form-signatures.ts";
import {
  type PublicKeyOptions,
  type PublicUrlOptions,
  type SecretOptions,
  type ToleranceOptions,
  type UnsignedIdOptions,
  zoomUrlValidation,
} from "./options.ts";
import { type SchemeName, schemeOf } from "./provider-table.ts";
import { createSchemeVerifier, type SchemeOptions } from "./scheme-verifier.ts";
import {
  createGitlabVerifier,
  createMailchimpVerifier,
  createMicrosoftGraphVerifier,
  type GitlabOptions,
  type MailchimpOptions,
  type MicrosoftGraphOptions,
} from "./sent-secrets.ts";

export { discordPing, slackChallenge } from "./options.ts";
export { providerTable } from "./provider-table.ts";
export type { ProviderDescription } from "./provider-table.ts";
export type { AdyenOptions, GitlabOptions, MailgunOptions, TwilioOptions };
export type { MailchimpOptions, MandrillOptions, MicrosoftGraphOptions };

export interface BitbucketOptions extends SecretOptions, UnsignedIdOptions {}
/** Secrets are `whsec_` and base64, as shown in the dashboard. */
export interface ClerkOptions extends SecretOptions, ToleranceOptions {}
/** Public keys are 64 hexadecimal digits, as shown in the developer portal. */
export interface DiscordOptions extends PublicKeyOptions, ToleranceOptions {}
export type DocusignOptions = SecretOptions;
export interface GithubOptions extends SecretOptions, UnsignedIdOptions {}
/** `publicUrl` is the target URL exactly as in the app's settings. */
export interface HubspotOptions extends SecretOptions, PublicUrlOptions, ToleranceOptions {}
export type IntercomOptions = SecretOptions;
/** Linear's documentation suggests 60 seconds; the default here is 300, as for every provider. */
export interface LinearOptions extends SecretOptions, ToleranceOptions, UnsignedIdOptions {}
export type MetaOptions = SecretOptions;
/** Secrets are `whsec_` and base64, as shown in the dashboard. */
export interface OpenaiOptions extends SecretOptions, ToleranceOptions {}
/** Paddle's own SDK tolerates 5 seconds; the default here is 300, as for every provider. */
export interface PaddleOptions extends SecretOptions, ToleranceOptions {}
/** Secrets are `whsec_` and base64, as shown in the dashboard. */
export interface ResendOptions extends SecretOptions, ToleranceOptions {}
/** Public keys are base64 (SPKI), as shown on the settings page. */
export interface SendgridOptions extends PublicKeyOptions, ToleranceOptions {}
export interface ShopifyOptions extends SecretOptions, UnsignedIdOptions {}
export interface SlackOptions extends SecretOptions, ToleranceOptions {}
/** `publicUrl` is the notification URL exactly as in Square's dashboard. */
export interface SquareOptions extends SecretOptions, PublicUrlOptions {}
export interface StripeOptions extends SecretOptions, ToleranceOptions {}
/** Secrets are `whsec_` and base64, or only the base64, which Svix's libraries also accept. */
export interface SvixOptions extends SecretOptions, ToleranceOptions {}
/** `publicUrl` is the callback URL exactly as it was when the webhook was created. */
export interface TrelloOptions extends SecretOptions, PublicUrlOptions {}
export type TypeformOptions = SecretOptions;
export type XOptions = SecretOptions;
export interface ZendeskOptions extends SecretOptions, ToleranceOptions, UnsignedIdOptions {}
export interface ZoomOptions extends SecretOptions, ToleranceOptions {}

/** One function for each provider. All functions throw ReceiverError `misconfigured` for invalid options. */
export type Providers = ReturnType<typeof bindProviders>;

/** Binds the providers to a crypto implementation. The entry points of the package have already done this. */
export function bindProviders(crypto: ReceiverCrypto) {
  const verifier =
    <Options extends SchemeOptions>(name: SchemeName) =>
    (options: Options): MessageVerifier =>
      createSchemeVerifier(crypto, schemeOf(name), options);
  return {
    adyen: (options: AdyenOptions): MessageVerifier => createAdyenVerifier(crypto, options),
    bitbucket: verifier<BitbucketOptions>("bitbucket"),
    clerk: verifier<ClerkOptions>("clerk"),
    discord: verifier<DiscordOptions>("discord"),
    docusign: verifier<DocusignOptions>("docusign"),
    github: verifier<GithubOptions>("github"),
    gitlab: (options: GitlabOptions): MessageVerifier => createGitlabVerifier(crypto, options),
    hubspot: verifier<HubspotOptions>("hubspot"),
    intercom: verifier<IntercomOptions>("intercom"),
    linear: verifier<LinearOptions>("linear"),
    mailchimp: (options: MailchimpOptions): MessageVerifier => createMailchimpVerifier(crypto, options),
    mailgun: (options: MailgunOptions): MessageVerifier => createMailgunVerifier(crypto, options),
    mandrill: (options: MandrillOptions): MessageVerifier => createMandrillVerifier(crypto, options),
    meta: verifier<MetaOptions>("meta"),
    microsoft_graph: (options: MicrosoftGraphOptions): MessageVerifier =>
      createMicrosoftGraphVerifier(crypto, options),
    openai: verifier<OpenaiOptions>("openai"),
    paddle: verifier<PaddleOptions>("paddle"),
    resend: verifier<ResendOptions>("resend"),
    sendgrid: verifier<SendgridOptions>("sendgrid"),
    shopify: verifier<ShopifyOptions>("shopify"),
    slack: verifier<SlackOptions>("slack"),
    square: verifier<SquareOptions>("square"),
    stripe: verifier<StripeOptions>("stripe"),
    svix: verifier<SvixOptions>("svix"),
    trello: verifier<TrelloOptions>("trello"),
    twilio: (options: TwilioOptions): MessageVerifier => createTwilioVerifier(crypto, options),
    typeform: verifier<TypeformOptions>("typeform"),
    x: verifier<XOptions>("x"),
    zendesk: verifier<ZendeskOptions>("zendesk"),
    zoom: verifier<ZoomOptions>("zoom"),
    /** Returns the JSON that proves ownership of a URL to Zoom, or null. Only pass the body of a verified message. */
    zoomUrlValidation: (input: { readonly secret: string; readonly body: Uint8Array }) =>
      zoomUrlValidation(crypto, input.secret, input.body),
  };
}
