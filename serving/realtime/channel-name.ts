import { normalizeCoinType, normalizeMoveAddress } from '../../core/move-type.ts'
import { isResolution } from '../../core/time.ts'
import { CHAIN_ID_BY_NAME, CHAINS, type Vm } from '../../schemas/chains.ts'
import { CHANNELS, type ChannelParameter, type ChannelRow } from '../../schemas/channels.ts'
import { PROTOCOL_ERRORS, type ProtocolError } from './protocol.ts'

/** What a channel name asks for. `literal` is what the subscriber wrote and what pushes must carry, byte for byte. */
export interface Channel {
  readonly literal: string
  readonly row: ChannelRow
  /** Internal chain id. */
  readonly chain: string
  /** Token, pool, wallet or sorted `A-B` pair in the topic's spelling (EVM: lower case). */
  readonly address: string
  /** Parameters after the address, e.g. a resolution; "" when there is none. */
  readonly suffix: string
  /** Equal for every name of the same stream. */
  readonly subject: string
}

/** Longest channel name in bytes. */
const MAX_CHANNEL_BYTES = 255

const ROW_BY_PREFIX: ReadonlyMap<string, ChannelRow> = new Map(
  CHANNELS.flatMap((row) => [row.prefix, ...row.aliases].map((name) => [name, row] as const)),
)

const ADDRESS_PATTERN: Readonly<Record<Exclude<Vm, 'move'>, RegExp>> = {
  evm: /^0x[0-9a-fA-F]{40}$/,
  svm: /^[1-9A-HJ-NP-Za-km-z]{32,44}$/,
}

/** Name of a stream inside the product; equal names mean equal payloads. */
export const streamSubject = (
  prefix: string,
  chain: string,
  address: string,
  suffix = '',
): string => `${prefix}|${chain}|${address}|${suffix}`

/** Reads a channel name; an unknown prefix is 102, everything else that is wrong with it 107. */
export const parseChannel = (
  literal: string,
  chains: ReadonlySet<string>,
): Channel | ProtocolError => {
  if (Buffer.byteLength(literal) > MAX_CHANNEL_BYTES) return PROTOCOL_ERRORS.badRequest
  const colon = literal.indexOf(':')
  const row = ROW_BY_PREFIX.get(colon === -1 ? literal : literal.slice(0, colon))
  if (row === undefined) return PROTOCOL_ERRORS.unknownChannel
  if (colon === -1) return PROTOCOL_ERRORS.badRequest
  const [word = '', ...words] = literal.slice(colon + 1).split('_')
  const chain = Object.hasOwn(CHAIN_ID_BY_NAME, word) ? CHAIN_ID_BY_NAME[word] : undefined
  if (chain === undefined || !chains.has(chain)) return PROTOCOL_ERRORS.badRequest
  const parts = splitParameters(words, row.parameters.length)
  if (parts.length !== row.parameters.length) return PROTOCOL_ERRORS.badRequest
  const values = row.parameters.map((parameter, index) =>
    parseParameter(parameter, parts[index] ?? '', chainVm(chain)),
  )
  if (values.includes(undefined)) return PROTOCOL_ERRORS.badRequest
  const [address = '', suffix = ''] = values
  const subject = streamSubject(row.prefix, chain, address, suffix)
  return { literal, row, chain, address, suffix, subject }
}

/** Parameters behind the chain. The first may hold `_` itself, as names of Move do; the others hold none. */
const splitParameters = (words: readonly string[], count: number): readonly string[] => {
  if (words.length <= count || count === 0) return words
  const first = words.length - count + 1
  return [words.slice(0, first).join('_'), ...words.slice(first)]
}

const chainVm = (chain: string): Vm =>
  (CHAINS as Readonly<Record<string, { readonly vm: Vm }>>)[chain]?.vm ?? 'evm'

const parseParameter = (parameter: ChannelParameter, text: string, vm: Vm): string | undefined => {
  if (parameter === 'resolution') return isResolution(text) ? text : undefined
  if (parameter !== 'pair') return parseAddress(text, vm)
  const sides = text.split('-').map((side) => parseAddress(side, vm))
  const [first, second] = sides
  if (sides.length !== 2 || first === undefined || second === undefined) return undefined
  return first === second ? undefined : [first, second].sort().join('-')
}

const parseAddress = (text: string, vm: Vm): string | undefined => {
  if (vm === 'move')
    return text.startsWith('0x')
      ? (normalizeCoinType(text) ?? normalizeMoveAddress(text))
      : undefined
  if (!ADDRESS_PATTERN[vm].test(text)) return undefined
  return vm === 'evm' ? text.toLowerCase() : text
}
