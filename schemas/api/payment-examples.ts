const OFFER = {
  scheme: 'exact',
  network: 'base',
  maxAmountRequired: '1000',
  resource: 'https://api.example.com/v2/token/search',
  description: 'GET /v2/token/search',
  mimeType: 'application/json',
  outputSchema: null,
  payTo: '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a',
  maxTimeoutSeconds: 60,
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  extra: { name: 'USD Coin', version: '2' },
}

/** Examples of terms of a payment, by the names of their schemas. */
export const PAYMENT_EXAMPLES = {
  PaymentOffer: OFFER,
  PaymentRequired: {
    type: 'https://docs.example.com/errors#PAYMENT_REQUIRED',
    title: 'Payment required',
    status: 402,
    detail: 'Payment required',
    instance: '/v2/token/search',
    code: 402,
    name: 'PAYMENT_REQUIRED',
    message: 'Payment required',
    requestId: '01JD0000000000000000000000',
    timestamp: '2026-01-05T12:15:00.000Z',
    details: { cu: 0.25 },
    x402Version: 1,
    error: 'X-PAYMENT header is required',
    accepts: [OFFER],
  },
}
