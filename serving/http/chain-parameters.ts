import type { FastifyReply } from 'fastify'
import { storedAddress } from '../../core/addresses.ts'
import { base58Decode } from '../../core/base58.ts'
import { Fault } from '../../core/errors.ts'
import { CHAIN_ID_BY_NAME } from '../../schemas/chains.ts'
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

/** Reads an address as the tables hold it. Throws `Fault` INVALID_TOKEN_ADDRESS. */
export const parseTokenAddress = (chainId: string, text: string, parameter: string): string =>
  parseAddress(chainId, text, { parameter, fault: 'INVALID_TOKEN_ADDRESS' })

/** As `addressOf`, for wallets. Throws `Fault` INVALID_ADDRESS. */
export const parseWalletAddress = (chainId: string, text: string, parameter: string): string =>
  parseAddress(chainId, text, { parameter, fault: 'INVALID_ADDRESS' })

const KEY_BYTES = 32

/** An address of Solana that a transaction can name: one that is 32 bytes long. Throws `Fault` INVALID_ADDRESS. */
export const parseSolanaKey = (chainId: string, text: string, parameter: string): string => {
  const address = parseWalletAddress(chainId, text, parameter)
  if (base58Decode(address)?.length === KEY_BYTES) return address
  throw new Fault('INVALID_ADDRESS', undefined, { parameter, value: address })
}

const parseAddress = (
  chainId: string,
  text: string,
  wanted: {
    readonly parameter: string
    readonly fault: 'INVALID_TOKEN_ADDRESS' | 'INVALID_ADDRESS'
  },
): string => {
  const address = storedAddress(chainId, text)
  if (address !== undefined) return address
  const { parameter, fault } = wanted
  throw new Fault(fault, undefined, { parameter, value: text.slice(0, 128) })
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
  if (words.length === 0) {
    throw new Fault('MISSING_PARAMETER', `${parameter} is required`, { parameter })
  }
  if (words.length > MAX_ADDRESSES) {
    throw new Fault(tooMany, undefined, { parameter, max_allowed: MAX_ADDRESSES })
  }
  return [...new Set(words.map((word) => read(chainId, word, parameter)))]
}
