import { createHmac, randomBytes } from 'node:crypto'
import { Fault } from '../../core/errors.ts'

const SECRET_PREFIX = 'whsec_'
const NEW_SECRET_BYTES = 32
const SECRET_PATTERN = /^(whsec_)?[A-Za-z0-9+/=]{32,100}$/
const MIN_SECRET_BYTES = 24
const MAX_SECRET_BYTES = 75

/** A new signing secret: `whsec_` and base64 of 32 random bytes. */
export const generateSecret = (): string =>
  SECRET_PREFIX + randomBytes(NEW_SECRET_BYTES).toString('base64')

/** A caller's own secret with its prefix. Throws `Fault` WEBHOOK_SECRET_INVALID; the secret is in no message. */
export const parseSecret = (text: string): string => {
  const bytes = secretBytes(text)
  const canonical = SECRET_PREFIX + bytes.toString('base64')
  const sent = text.startsWith(SECRET_PREFIX) ? text : SECRET_PREFIX + text
  const fits = bytes.length >= MIN_SECRET_BYTES && bytes.length <= MAX_SECRET_BYTES
  if (
    !SECRET_PATTERN.test(text) ||
    !fits ||
    canonical.replace(/=+$/, '') !== sent.replace(/=+$/, '')
  ) {
    throw new Fault('WEBHOOK_SECRET_INVALID', 'secret must be base64 of 24 to 75 bytes', {
      parameter: 'secret',
    })
  }
  return canonical
}

const secretBytes = (secret: string): Buffer =>
  Buffer.from(
    secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret,
    'base64',
  )

/** Secrets as the keys of HMACs. */
interface SigningKeys {
  readonly standard: readonly Buffer[]
  /** Of the reference API's pair of headers: the text of the current secret. */
  readonly legacy: Buffer
}

/** An endpoint's secrets are the same array at every attempt, until they change. */
const keysBySecrets = new WeakMap<readonly string[], SigningKeys>()

const signingKeys = (secrets: readonly string[]): SigningKeys => {
  const known = keysBySecrets.get(secrets)
  if (known) return known
  const keys = { standard: secrets.map(secretBytes), legacy: Buffer.from(secrets[0] ?? '') }
  keysBySecrets.set(secrets, keys)
  return keys
}

/** What one attempt signs. */
export interface SignatureInput {
  readonly id: string
  readonly body: string
  /** Live secrets, the current one first. The array is never changed. */
  readonly secrets: readonly string[]
  /** Moment of the attempt, epoch milliseconds. */
  readonly nowMs: number
  /** Adds the pair of headers that the reference API describes. */
  readonly legacy: boolean
  /** Adds the older names of the standard headers. */
  readonly svix: boolean
}

/** Signature headers of one attempt, added to `headers`: Standard Webhooks first, the others as asked. */
export const signatureHeaders = (
  signing: SignatureInput,
  headers: Record<string, string> = {},
): Readonly<Record<string, string>> => {
  const { id, body, secrets, nowMs } = signing
  const timestamp = String(Math.floor(nowMs / 1_000))
  const signed = `${id}.${timestamp}.${body}`
  let signature = ''
  const keys = signingKeys(secrets)
  for (const key of keys.standard) {
    const mac = createHmac('sha256', key).update(signed).digest('base64')
    signature += `${signature === '' ? '' : ' '}v1,${mac}`
  }
  headers['webhook-id'] = id
  headers['webhook-timestamp'] = timestamp
  headers['webhook-signature'] = signature
  if (signing.svix) {
    headers['svix-id'] = id
    headers['svix-timestamp'] = timestamp
    headers['svix-signature'] = signature
  }
  if (signing.legacy) {
    const hmac = createHmac('sha256', keys.legacy).update(`${nowMs}.${body}`)
    headers['x-webhook-timestamp'] = String(nowMs)
    headers['x-webhook-signature'] = hmac.digest('hex')
  }
  return headers
}
