import { Type } from 'typebox'

/** Settings of webhooks. */
export const WEBHOOK_SETTINGS = {
  webhookAllow: Type.Array(Type.String({ pattern: '^(none|[0-9a-fA-F.:]+/\\d{1,3})$' }), {
    default: [],
    description:
      'CIDR ranges of internal addresses that webhooks may reach, also over plain HTTP; none = not even those of the demo',
  }),
  webhookTimeoutMs: Type.Integer({
    minimum: 100,
    maximum: 60_000,
    default: 15_000,
    description: 'Webhook attempt timeout',
  }),
  webhookRetrySeconds: Type.Array(Type.String({ pattern: '^\\d{1,6}$' }), {
    minItems: 1,
    maxItems: 50,
    default: ['0', '5', '300', '1800', '7200', '18000', '36000', '36000'],
    description: 'Webhook retry schedule: delay before each attempt, from the failure before it',
  }),
  webhookInFlight: Type.Integer({
    minimum: 1,
    maximum: 256,
    default: 10,
    description: 'Maximum concurrent webhook attempts per endpoint',
  }),
  webhookEndpoints: Type.Integer({
    minimum: 0,
    maximum: 10_000,
    default: 0,
    description:
      'Maximum webhook endpoints per organization; 0 = by its plan: free 10, starter 25, pro 100, enterprise 500, selfhost 1000',
  }),
  webhookMaxEventAgeSeconds: Type.Integer({
    minimum: 0,
    maximum: 315_360_000,
    default: 3_600,
    description: 'Webhook events with an older block time are not delivered; 0 = no limit',
  }),
  webhookPayload: Type.Enum(['full', 'reference'], {
    default: 'full',
    description: 'full: webhook bodies with id, type and meta; reference: without them',
  }),
  webhookLegacySignature: Type.Boolean({
    default: true,
    description: 'Adds the headers X-Webhook-Timestamp and X-Webhook-Signature',
  }),
  webhookSvixHeaders: Type.Boolean({ default: false, description: 'Adds svix-* headers' }),
}
