import type { PayloadFormatName, Profile, ProfileHeader } from "../../domain/profile.ts";
import { exampleMessage, headerDescriptions, isSigned } from "../../domain/profiles/example-message.ts";
import { UniqueNames } from "../../domain/type-text.ts";
import type { JsonObject } from "../../http/openapi.ts";
import type { EventType } from "../../ports/store/registry.ts";
import { bodySchema, dataSchemas, type NamedSchema, schemaPointer, sharedSchemas } from "./data-schemas.ts";

/** The first paragraph of both documents. */
export function describeProfile({ name, description, timeoutMs }: Profile): string {
  return (
    `Messages of the delivery profile \`${name}\`: ${description} ` +
    `Respond within ${timeoutMs / 1_000} seconds. The same message may arrive more than once, with the same id. ` +
    "Data schemas are JSON Schema 2020-12. An event may also be published as bytes of another media type, " +
    "which is then the Content-Type of the message."
  );
}

/** The header that contains the profile's default signature. */
export function schemeHeader({ headers, signatureSchemes }: Profile): string {
  const isSignature = (header: ProfileHeader): boolean =>
    isSigned(header, signatureSchemes) && !isSigned(header, []);
  const names = headers.filter(isSignature).map(({ name }) => name);
  return names.at(-1) ?? "Webhook-Signature";
}

// Collects the messages of a tenant; both documents are built from them.

/** All messages of a tenant's event types in one profile, and the schemas that they reference. */
export interface MessageCatalogue {
  readonly tenantId: string;
  readonly profile: Profile;
  readonly eventTypes: readonly DocumentedType[];
  /** The document's `components.schemas`. */
  readonly schemas: JsonObject;
}

export interface DocumentedType {
  readonly eventType: EventType;
  /** One per payload format of the profile. */
  readonly messages: readonly DocumentedMessage[];
}

export interface DocumentedMessage {
  readonly format: PayloadFormatName;
  readonly contentType: string;
  readonly headers: readonly DocumentedHeader[];
  /** A name in `schemas`. */
  readonly schemaName: string;
  /** Taken from the examples of the event type. */
  readonly examples: readonly { readonly headers: JsonObject; readonly body: unknown }[];
}

export interface DocumentedHeader {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly example: string;
}

/**
 * Creates the catalogue from event types that are sorted by name. Type names contain no hyphen, and no format is called
 * `content`, so the names of schemas are unique.
 */
export async function createMessageCatalogue(
  profile: Profile,
  tenantId: string,
  registered: AsyncIterable<EventType>,
): Promise<MessageCatalogue> {
  const schemas: NamedSchema[] = [...sharedSchemas(profile.payloadFormats)];
  const titles = new UniqueNames();
  const eventTypes: DocumentedType[] = [];
  for await (const eventType of registered) {
    const ofData = dataSchemas(eventType, titles);
    schemas.push(...ofData.schemas);
    const messages = profile.payloadFormats.map((format) => {
      const schemaName = `${eventType.name}-${format}`;
      const data = { $ref: schemaPointer + ofData.name };
      const title = titles.of(schemaName);
      schemas.push([schemaName, bodySchema(format, { title, eventType: eventType.name, data })]);
      return documentMessage(profile, eventType, format, schemaName);
    });
    eventTypes.push({ eventType, messages });
  }
  return { tenantId, profile, eventTypes, schemas: Object.fromEntries(schemas) };
}

function documentMessage(
  profile: Profile,
  eventType: EventType,
  format: PayloadFormatName,
  schemaName: string,
): DocumentedMessage {
  const exampleOf = (data: unknown) => exampleMessage(profile, format, eventType.name, data);
  const { headers } = exampleOf({ id: 1 });
  return {
    format,
    contentType: headers.find(([name]) => name === contentTypeName)?.[1] ?? "application/json",
    headers: headersOf(profile, headers),
    schemaName,
    examples: eventType.examples.filter(isPlain).map((data) => {
      const example = exampleOf(data);
      return { headers: Object.fromEntries(example.headers), body: JSON.parse(example.body) as unknown };
    }),
  };
}

/**
 * Whether a value contains no member `$ref`. Tools for both formats treat such a member as a reference, even in an
 * example, and refuse the whole document.
 */
function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return !Object.hasOwn(value, "$ref") && Object.values(value).every(isPlain);
}

const contentTypeName = "Content-Type";

/** The headers of a message, without Content-Type, which the documents declare in another place. */
function headersOf(
  profile: Profile,
  sent: readonly (readonly [string, string])[],
): readonly DocumentedHeader[] {
  return profile.headers.flatMap((header): readonly DocumentedHeader[] => {
    const { name } = header;
    if (name === contentTypeName) return [];
    if ("literal" in header)
      return [{ name, description: "Always this value.", required: true, example: header.literal }];
    if (header.value === "content_format") return attributeHeaders(sent);
    const { description, example } = headerDescriptions[header.value];
    // The webhook's signature schemes determine whether the header is present.
    const required = isSigned(header, []);
    return [{ name, description, required, example }];
  });
}

/** The attributes of a binary CloudEvent; empty for other formats. */
function attributeHeaders(sent: readonly (readonly [string, string])[]): readonly DocumentedHeader[] {
  return sent
    .filter(([name]) => name.startsWith("ce-"))
    .map(([name, example]) => ({
      name,
      description: `Attribute \`${name.slice("ce-".length)}\` of the CloudEvent.`,
      required: true,
      example,
    }));
}
