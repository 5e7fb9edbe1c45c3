import { rotateFields } from "../../core/fields/actions.ts";
import type { ApiOptions } from "../context.ts";
import { inputOf } from "../mapping/fields.ts";
import { secretJson } from "../mapping/webhook-state.ts";
import { defineRoute } from "../route.ts";
import type { Route } from "../route.ts";
import { publicKeySchema, rotateInputSchema, secretSchema } from "../schemas/webhook-state.ts";
import { webhookBefore, webhookParams } from "./webhooks.ts";

const uncached = { "cache-control": "no-store" };

export function secretRoutes({ services }: ApiOptions): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/v1/webhooks/{id}/secret",
      operationId: "getWebhookSecret",
      tag: "Webhooks",
      summary: "Get the signing secret",
      access: "manage",
      capability: "secrets:read",
      params: webhookParams,
      answers: {
        200: {
          description: "The secret in clear text, and the old one while both are valid.",
          schema: secretSchema,
        },
      },
      errors: ["not_found"],
      // Revealing a secret is audited like a change.
      audit: { action: "webhook.read_secret", target: "webhook", before: webhookBefore(services) },
      handle: async ({ scope, params }) => ({
        status: 200,
        headers: uncached,
        body: secretJson(await services.webhooks.secret(scope, params.id)),
      }),
    }),
    rotateRoute(services),
    defineRoute({
      method: "GET",
      path: "/v1/webhooks/{id}/public-key",
      operationId: "getWebhookPublicKey",
      tag: "Webhooks",
      summary: "Get the public key of the asymmetric signatures",
      access: "read",
      capability: "endpoints:read",
      params: webhookParams,
      answers: {
        200: { description: "The key that verifies `v1a` and `rfc9421-ed25519`.", schema: publicKeySchema },
      },
      errors: ["not_found"],
      handle: async ({ scope, params }) => {
        const { publicKey, jwk } = await services.webhooks.publicKey(scope, params.id);
        return { status: 200, body: { public_key: publicKey, jwk } };
      },
    }),
  ];
}

function rotateRoute(services: ApiOptions["services"]): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/webhooks/{id}/secret/rotate",
    operationId: "rotateWebhookSecret",
    tag: "Webhooks",
    summary: "Rotate the signing secret",
    access: "manage",
    capability: "secrets:rotate",
    params: webhookParams,
    body: rotateInputSchema,
    bodyOptional: true,
    answers: {
      200: {
        description:
          "Responds with the new secret, and the old one while both are valid. If a webhook signs only with a key pair, the pair " +
          "is replaced by a separate one and `secret` is null: get the new public key.",
        schema: secretSchema,
      },
    },
    errors: ["not_found", "rotation_in_progress", "secret_in_use"],
    answerIsSecret: true,
    audit: { action: "webhook.rotate_secret", target: "webhook", before: webhookBefore(services) },
    handle: async ({ scope, params, body }) => {
      const command = { id: params.id, ...inputOf(rotateFields, body) };
      const view = await services.webhooks.rotateSecret(scope, command);
      return { status: 200, headers: uncached, body: secretJson(view) };
    },
  });
}
