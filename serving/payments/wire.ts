import {
  type PaymentPayloadV1,
  type PaymentPayloadV2,
  type PaymentRequiredV1,
  type PaymentRequiredV2,
  parsePaymentPayload,
} from '@x402/core/schemas'
import { Fault, InvalidInput } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'

/** Terms of a call as the two versions of the protocol write them. */
export type TermsV1 = PaymentRequiredV1
export type TermsV2 = PaymentRequiredV2

/** A payment as a client sent it. */
export type PaymentHeader =
  | ({ readonly version: 1 } & Pick<PaymentPayloadV1, 'scheme' | 'network' | 'payload'>)
  | ({ readonly version: 2 } & Pick<PaymentPayloadV2, 'accepted' | 'payload'> &
      Partial<Pick<PaymentPayloadV2, 'resource'>>)

/** Version of the protocol by the header that carries a payment, lower case. */
export const PAYMENT_HEADERS = { 'x-payment': 1, 'payment-signature': 2 } as const

/** Header that tells how a payment ended, by version. */
export const RECEIPT_HEADERS = { 1: 'X-PAYMENT-RESPONSE', 2: 'PAYMENT-RESPONSE' } as const

/** Headers that carry the terms, with the same value: the protocol's name, and an older one. */
export const TERMS_HEADERS = ['PAYMENT-REQUIRED', 'X-Payment-Required'] as const

/** Longest header: a payment of one signature is below 2 KB. */
const MAX_HEADER_LENGTH = 8_192
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/
const MAX_DEPTH = 8

/** How a payment ended, as both versions tell it. */
export interface Receipt {
  readonly success: boolean
  /** `''` where there is none. */
  readonly transaction: string
  readonly network: string
  readonly payer?: string
  readonly errorReason?: string
}

/** Text of a header that carries an object. */
export const encodeHeader = (value: object): string =>
  Buffer.from(JSON.stringify(value)).toString('base64')

/** Reads the header of a payment. Throws `Fault` BAD_REQUEST for what is none, or of another version than its header. */
export const decodePaymentHeader = (text: string, version: 1 | 2): PaymentHeader => {
  const read = parsePaymentPayload(parseHeaderJson(text))
  if (!read.success) throw unreadable('invalid_payload')
  const { data } = read
  if (data.x402Version !== version) throw unreadable('invalid_x402_version')
  return data.x402Version === 1
    ? { version: 1, scheme: data.scheme, network: data.network, payload: data.payload }
    : {
        version: 2,
        accepted: data.accepted,
        payload: data.payload,
        ...(data.resource && { resource: data.resource }),
      }
}

const parseHeaderJson = (text: string): unknown => {
  if (text.length > MAX_HEADER_LENGTH || !BASE64.test(text)) throw unreadable('invalid_payload')
  try {
    return parseJson(Buffer.from(text, 'base64').toString('utf8'), { maxDepth: MAX_DEPTH })
  } catch (error) {
    if (error instanceof InvalidInput || error instanceof SyntaxError)
      throw unreadable('invalid_payload')
    throw error
  }
}

const unreadable = (reason: string): Fault =>
  new Fault('BAD_REQUEST', 'The payment header is not valid base64 JSON of x402 in its version', {
    reason,
  })
