import { base58Decode } from '../../core/base58.ts'

/** Kind of the account that signs: what its address and its signature look like. */
export type WalletKind = 'evm' | 'solana'

/** What a sign-in message says. Times in epoch milliseconds. */
export interface SignInMessage {
  readonly domain: string
  readonly kind: WalletKind
  /** As the tables hold it: EVM in lower case. */
  readonly address: string
  readonly uri: string
  readonly version: string
  readonly chainId: string
  readonly nonce: string
  readonly issuedAtMs: number
  readonly expiresAtMs: number
  readonly notBeforeMs: number | null
}

/** Longest message, bytes of UTF-8. */
export const MAX_MESSAGE_BYTES = 4_096

const KINDS: Readonly<Record<string, WalletKind>> = { Ethereum: 'evm', Solana: 'solana' }
const FIRST_LINE = /^([^\s/?#@]{1,255}) wants you to sign in with your (Ethereum|Solana) account:$/
const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/
const SOLANA_ADDRESS_LENGTHS = { min: 32, max: 44 } as const
const SOLANA_KEY_BYTES = 32
const NONCE_PATTERN = /^[A-Za-z0-9]{8,128}$/
/** Line breaks apart, a message is printable. */
const CONTROL_CHARACTERS = /[^\P{Cc}\n]|\p{Zl}|\p{Zp}/u
/** RFC 3339 in UTC with up to nanoseconds, as clients of several languages write it. */
const TIME_PATTERN = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(?:Z|\+00:00)$/

/** Lines behind the statement in their order; the last ones may be left out. */
const REQUIRED_FIELDS = ['URI', 'Version', 'Chain ID', 'Nonce', 'Issued At', 'Expiration Time']
const OPTIONAL_FIELDS = ['Not Before', 'Request ID']
const MAX_RESOURCES = 16

/** An address as the tables hold it; undefined where it is none of the kind. */
export const normalizeWalletAddress = (kind: WalletKind, text: string): string | undefined => {
  if (kind === 'evm') return EVM_ADDRESS.test(text) ? text.toLowerCase() : undefined
  const { min, max } = SOLANA_ADDRESS_LENGTHS
  if (text.length < min || text.length > max) return undefined
  return base58Decode(text)?.length === SOLANA_KEY_BYTES ? text : undefined
}

/**
 * Reads a sign-in message: the lines of EIP-4361 in their order, also for Solana, with an end; no other lines. undefined where
 * anything else is in it. Source: EIP-4361, message format.
 */
export const parseSignInMessage = (text: string): SignInMessage | undefined => {
  if (Buffer.byteLength(text) > MAX_MESSAGE_BYTES || CONTROL_CHARACTERS.test(text)) return undefined
  const [first = '', addressLine = '', ...rest] = text.split('\n')
  const [, domain = '', account = ''] = FIRST_LINE.exec(first) ?? []
  const kind = KINDS[account]
  const address = kind && normalizeWalletAddress(kind, addressLine)
  const fields = readFields(rest)
  if (!kind || !address || !fields) return undefined
  const { 'Not Before': notBefore, Nonce: nonce = '' } = fields
  const issuedAtMs = parseTime(fields['Issued At'])
  const expiresAtMs = parseTime(fields['Expiration Time'])
  const notBeforeMs = notBefore === undefined ? null : parseTime(notBefore)
  if (issuedAtMs === undefined || expiresAtMs === undefined || notBeforeMs === undefined) {
    return undefined
  }
  if (!NONCE_PATTERN.test(nonce)) return undefined
  return {
    domain: domain.toLowerCase(),
    kind,
    address,
    nonce,
    uri: fields.URI ?? '',
    version: fields.Version ?? '',
    chainId: fields['Chain ID'] ?? '',
    issuedAtMs,
    expiresAtMs,
    notBeforeMs,
  }
}

/** The `Name: value` lines behind blank line, statement and blank line; a message may have no statement. */
const readFields = (lines: readonly string[]): Readonly<Record<string, string>> | undefined => {
  const hasStatement = lines[1] !== ''
  const blanks = hasStatement ? [lines[0], lines[2]] : [lines[0], lines[1]]
  if (blanks.some((line) => line !== '')) return undefined
  const fields: Record<string, string> = {}
  let at = hasStatement ? 3 : 2
  for (const name of [...REQUIRED_FIELDS, ...OPTIONAL_FIELDS]) {
    const line = lines[at] ?? ''
    const prefix = `${name}: `
    if (line.startsWith(prefix) && line.length > prefix.length) {
      fields[name] = line.slice(prefix.length)
      at += 1
    } else if (REQUIRED_FIELDS.includes(name)) return undefined
  }
  return areResources(lines.slice(at)) ? fields : undefined
}

const areResources = ([head, ...items]: readonly string[]): boolean =>
  head === undefined ||
  (head === 'Resources:' &&
    items.length <= MAX_RESOURCES &&
    items.every((item) => /^- \S+$/.test(item)))

const parseTime = (text = ''): number | undefined => {
  const [, seconds, fraction = ''] = TIME_PATTERN.exec(text) ?? []
  if (seconds === undefined) return undefined
  const ms = Date.parse(`${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`)
  // The engine takes 30 February for 2 March.
  return Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(seconds) ? undefined : ms
}
