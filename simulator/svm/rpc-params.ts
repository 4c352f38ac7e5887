import { isJsonObject } from '../../core/json.ts'
import { JsonRpcError } from '../node/rpc.ts'
import type { BlockOptions } from './block-json.ts'
import type { Commitment } from './chain.ts'

/** An object of options. */
type OptionsObject = Readonly<Record<string, unknown>>

/** An error of parameters, as a node words it. */
export const invalidParams = (why: string): JsonRpcError =>
  new JsonRpcError(-32602, `Invalid params: ${why}`)

/** The options at a place; none is an empty object. */
export const optionsParam = (params: readonly unknown[], at: number): OptionsObject => {
  const value = params[at] ?? {}
  if (isJsonObject(value)) return value
  throw invalidParams('invalid type: expected an options object.')
}

const enumValue = <T extends string>(value: unknown, words: readonly T[], fallback: T): T => {
  if (value === undefined || value === null) return fallback
  const found = words.find((word) => word === value)
  if (found !== undefined) return found
  const expected = words.map((word) => `\`${word}\``).join(', ')
  throw invalidParams(
    `unknown variant \`${String(value).slice(0, 40)}\`, expected one of ${expected}.`,
  )
}

/** The commitment that options name. */
export const parseCommitment = ({ commitment }: OptionsObject): Commitment =>
  enumValue(commitment, ['processed', 'confirmed', 'finalized'], 'finalized')

/** A slot at a place. */
export const slotParam = (params: readonly unknown[], at: number): number => {
  const value = params[at]
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw invalidParams('invalid type: expected a slot (u64).')
}

/** Text in base 58 at a place: an address or a signature. */
export const textParam = (params: readonly unknown[], at: number): string => {
  const value = params[at]
  if (typeof value === 'string' && /^[1-9A-HJ-NP-Za-km-z]{32,88}$/.test(value)) return value
  throw invalidParams('Invalid base58 text.')
}

const maxVersionOf = (value: unknown): number | undefined => {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 256)
    return value
  throw invalidParams('invalid value: expected u8.')
}

/** Options of a block; `rewards` is the name of that option. */
export const parseBlockOptions = (
  config: OptionsObject,
  rewards: 'rewards' | 'showRewards',
): BlockOptions => {
  const shown = config[rewards] ?? true
  if (typeof shown !== 'boolean') throw invalidParams('invalid type: expected a boolean.')
  return {
    encoding: enumValue(config.encoding, ['json', 'base64'], 'json'),
    details: enumValue(config.transactionDetails, ['full', 'signatures', 'none'], 'full'),
    rewards: shown,
    version: maxVersionOf(config.maxSupportedTransactionVersion),
  }
}

/** The commitment of what needs a whole block: nothing below `confirmed`. */
export const parseBlockCommitment = (config: OptionsObject): Commitment => {
  const commitment = parseCommitment(config)
  if (commitment !== 'processed') return commitment
  throw new JsonRpcError(-32602, 'Method does not support commitment below `confirmed`')
}
