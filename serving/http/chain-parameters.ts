import type { FastifyReply } from 'fastify'
import { Fault } from '../../core/errors.ts'
import { normalizeCoinType, normalizeMoveAddress } from '../../core/move-type.ts'
import { CHAIN_ID_BY_NAME, chainRow, type Vm } from '../../schemas/chains.ts'
import type { ChainFreshness, FreshnessReader } from '../interfaces.ts'

/** A chain as a request named it. */
export interface RequestedChain {
  /** Internal id. */
  readonly id: string
  /** The caller's word, echoed in answers. */
  readonly word: string
  /** True when this installation holds data of it. */
  readonly enabled: boolean
}

/** Reads a chain word. Throws `Fault` CHAIN_NOT_FOUND for anything else than the listed words, which are lower case. */
export const parseChain = (word: string, enabled: readonly string[]): RequestedChain => {
  const id = Object.hasOwn(CHAIN_ID_BY_NAME, word) ? CHAIN_ID_BY_NAME[word] : undefined
  if (id === undefined) {
    throw new Fault('CHAIN_NOT_FOUND', undefined, {
      parameter: 'chain',
      value: word.slice(0, 64),
      allowed_values: Object.keys(CHAIN_ID_BY_NAME),
    })
  }
  return { id, word, enabled: enabled.includes(id) }
}

const ADDRESS_PATTERNS: Readonly<Record<Vm, RegExp>> = {
  evm: /^0x[0-9a-fA-F]{40}$/,
  svm: /^[1-9A-HJ-NP-Za-km-z]{32,44}$/,
  move: /^0x[0-9a-fA-F]{1,64}(::\w{1,128}){0,2}$/,
}

/** Chains without a row of their own are EVM chains. */
const chainVm = (chainId: string): Vm => chainRow(chainId)?.vm ?? 'evm'

/** Reads an address as the tables hold it. Throws `Fault` INVALID_TOKEN_ADDRESS. */
export const parseTokenAddress = (chainId: string, text: string, parameter: string): string =>
  parseAddress(chainId, text, { parameter, fault: 'INVALID_TOKEN_ADDRESS' })

/** As `addressOf`, for wallets. Throws `Fault` INVALID_ADDRESS. */
export const parseWalletAddress = (chainId: string, text: string, parameter: string): string =>
  parseAddress(chainId, text, { parameter, fault: 'INVALID_ADDRESS' })

/** One writing for each address: EVM lower case, coins short and other Move addresses with all their digits. */
const toStoredAddress = (vm: Vm, text: string): string => {
  if (vm === 'move') return normalizeCoinType(text) ?? normalizeMoveAddress(text) ?? text
  return vm === 'evm' ? text.toLowerCase() : text
}

const parseAddress = (
  chainId: string,
  text: string,
  wanted: {
    readonly parameter: string
    readonly fault: 'INVALID_TOKEN_ADDRESS' | 'INVALID_ADDRESS'
  },
): string => {
  const vm = chainVm(chainId)
  if (!ADDRESS_PATTERNS[vm].test(text)) {
    const { parameter, fault } = wanted
    throw new Fault(fault, undefined, { parameter, value: text.slice(0, 128) })
  }
  return toStoredAddress(vm, text)
}

const headPosition = (height: number, timeMs: number): string => `${height};time=${timeMs}`

/** How fresh and how complete the data behind an answer is, in headers. Nothing ingested yet: no headers. */
export const setFreshnessHeaders = async (
  reply: FastifyReply,
  freshness: FreshnessReader,
  chainId: string,
): Promise<ChainFreshness | null> => {
  const fresh = await freshness.of(chainId)
  if (fresh) {
    reply.header('X-Chain-Head', headPosition(fresh.head, fresh.headTimeMs))
    reply.header('X-Chain-Since', headPosition(fresh.since, fresh.sinceTimeMs))
  }
  return fresh
}

/** Most addresses of one look-up. */
const MAX_ADDRESSES = 100

/** Lists of addresses by parameter: what one of them is, and the fault of a list that is too long. */
const ADDRESS_LISTS = {
  tokenAddresses: { read: parseTokenAddress, tooMany: 'TOKEN_ADDRESSES_LIMIT_EXCEEDED' },
  walletAddresses: { read: parseWalletAddress, tooMany: 'WALLET_ADDRESSES_LIMIT_EXCEEDED' },
} as const

/** Reads a comma-joined list of addresses, each once. Throws `Fault` for a bad one and for more than 100. */
export const parseAddressList = (
  chainId: string,
  text: string,
  parameter: keyof typeof ADDRESS_LISTS,
): readonly string[] => {
  const { read, tooMany } = ADDRESS_LISTS[parameter]
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
  if (words.length === 0) throw new Fault('MISSING_PARAMETER', undefined, { parameter })
  if (words.length > MAX_ADDRESSES) {
    throw new Fault(tooMany, undefined, { parameter, max_allowed: MAX_ADDRESSES })
  }
  return [...new Set(words.map((word) => read(chainId, word, parameter)))]
}
