import { normalizeCoinType, normalizeMoveAddress } from '../../core/move-type.ts'
import { isResolution } from '../../core/time.ts'
import { CHAIN_ID_BY_NAME, CHAINS, type Vm } from '../../schemas/chains.ts'
import {
  CHANNELS,
  type ChannelParameter,
  type ChannelRow,
  RANKING_LAUNCHPADS,
  RANKINGS,
} from '../../schemas/channels.ts'
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
  const colon = literal.indexOf(':', literal.startsWith('pred:') ? 'pred:'.length : 0)
  const row = ROW_BY_PREFIX.get(colon === -1 ? literal : literal.slice(0, colon))
  if (row === undefined) return PROTOCOL_ERRORS.unknownChannel
  if (colon === -1) return PROTOCOL_ERRORS.badRequest
  if (row.prefix.startsWith('pred:')) return parsePrediction(literal, row, literal.slice(colon + 1))
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

/** What ends the name of a channel of a prediction market. */
const ACTIVITY_SUFFIX = ':act'
const OUTCOME_TOKEN = /^\d{1,78}$/
/** A condition or a group of questions. */
const HASH = /^0x[0-9a-fA-F]{64}$/
const EVENT_SLUG = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

/** Channels of prediction markets name no chain: an outcome token is of one chain only. */
const parsePrediction = (
  literal: string,
  row: ChannelRow,
  rest: string,
): Channel | ProtocolError => {
  const named = rest.endsWith(ACTIVITY_SUFFIX) ? rest.slice(0, -ACTIVITY_SUFFIX.length) : ''
  const address = HASH.test(named) ? named.toLowerCase() : named
  const pattern = row.parameters[0] === 'outcomeToken' ? OUTCOME_TOKEN : EVENT_SLUG
  if (!pattern.test(address)) return PROTOCOL_ERRORS.badRequest
  const subject = streamSubject(row.prefix, '', address)
  return { literal, row, chain: '', address, suffix: '', subject }
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
  if (parameter === 'ranking') return parseRanking(text)
  if (parameter === 'wholeRanking') return rankingOf(text)
  if (parameter === 'newRanking') return text === 'new' ? text : undefined
  if (parameter !== 'pair') return parseAddress(text, vm)
  const sides = text.split('-').map((side) => parseAddress(side, vm))
  const [first, second] = sides
  if (sides.length !== 2 || first === undefined || second === undefined) return undefined
  return first === second ? undefined : [first, second].sort().join('-')
}

const rankingOf = (text: string): string | undefined =>
  Object.hasOwn(RANKINGS, text) ? RANKINGS[text as keyof typeof RANKINGS] : undefined

/** A ranking, and behind it a launchpad: both may hold `_`, so the launchpad is looked for at the end. */
const parseRanking = (text: string): string | undefined => {
  const launchpad = RANKING_LAUNCHPADS.find((name) => text.endsWith(`_${name}`))
  if (launchpad === undefined) return rankingOf(text)
  const ranking = rankingOf(text.slice(0, -launchpad.length - 1))
  return ranking && `${ranking}_${launchpad}`
}

/** The parts of what `parseRanking` made: the launchpad is "" for all of them. */
export const splitRanking = (
  address: string,
): { readonly ranking: string; readonly launchpad: string } => {
  const cut = address.indexOf('_')
  return cut === -1
    ? { ranking: address, launchpad: '' }
    : { ranking: address.slice(0, cut), launchpad: address.slice(cut + 1) }
}

const parseAddress = (text: string, vm: Vm): string | undefined => {
  if (vm === 'move')
    return text.startsWith('0x')
      ? (normalizeCoinType(text) ?? normalizeMoveAddress(text))
      : undefined
  if (!ADDRESS_PATTERN[vm].test(text)) return undefined
  return vm === 'evm' ? text.toLowerCase() : text
}
