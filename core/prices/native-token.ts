import { type ChainRow, chainRow } from '../../schemas/chains.ts'
import type { ChainExtra } from '../config/settings.ts'

/** Address by which EVM interfaces also name the chain's native token. Source: Uniswap and Curve interfaces, EIP-7528. */
export const EVM_NATIVE_PLACEHOLDER = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'

/** Addresses of a chain's native token itself, as tables hold addresses; the wrapped form is none of them. */
const nativeAddresses = (chain: ChainRow): readonly string[] => [
  chain.nativeAddress,
  ...(chain.vm === 'evm' ? [EVM_NATIVE_PLACEHOLDER] : []),
  ...[chain.nativeTokenContract, chain.nativeTransferLogger].filter((one) => one !== undefined),
  ...(chain.otherNativeAddresses ?? []),
]

/** True for an address, as tables hold it, that means the chain's native token; not for the wrapped form. */
export const isNativeAddress = (chain: ChainRow, address: string): boolean =>
  nativeAddresses(chain).includes(address)

/** Contracts or mints that wrap a chain's native token: the chain's own and the configured ones, those that count first. */
const wrappedNatives = (chain: ChainRow, extra?: ChainExtra): readonly string[] => {
  const configured = (extra?.quotes ?? [])
    .filter(({ kind }) => kind === 'native')
    .map(({ address }) => address)
  const own = chain.wrappedNative
  return [...new Set(extra?.replace ? [...configured, own] : [own, ...configured])]
}

/** The chain's native token, or its wrapped form. */
type NativeForm = 'native' | 'wrapped'

/**
 * What an address, as tables hold it, or a name in any case means of a chain's native token; names and addresses that it had before
 * are known as well. undefined: something else.
 */
export const nativeFormOf = (
  chain: ChainRow,
  text: string,
  extra?: ChainExtra,
): NativeForm | undefined => {
  if (isNativeAddress(chain, text)) return 'native'
  const wrapped = wrappedNatives(chain, extra)
  if (wrapped.includes(text)) return 'wrapped'
  const word = text.toUpperCase()
  const symbols = [chain.nativeSymbol, ...(chain.formerNativeSymbols ?? [])]
  const isNamed = (names: readonly string[]): boolean =>
    names.some((name) => name.toUpperCase() === word)
  if (isNamed([...symbols, chain.nativeName])) return 'native'
  const quotes = [...chain.quotes, ...(extra?.quotes ?? [])]
  const wrappedSymbols = quotes.filter(({ address }) => wrapped.includes(address))
  const names = [
    ...symbols.map((symbol) => `W${symbol}`),
    ...wrappedSymbols.map(({ symbol }) => symbol),
  ]
  return isNamed([...names, chain.wrappedName]) ? 'wrapped' : undefined
}

/**
 * Addresses under which transfers hold what an asset names of the chain's native token: the named one first, then its form; nothing
 * for other assets.
 */
export const nativeTokensOf = (
  chainId: string,
  asset: string,
  extra?: ChainExtra,
): readonly string[] => {
  const chain = chainRow(chainId)
  const form = chain && nativeFormOf(chain, asset, extra)
  if (chain === undefined || form === undefined) return []
  const wrapped = wrappedNatives(chain, extra)
  const tokens =
    form === 'native' ? [chain.nativeAddress, ...wrapped] : [...wrapped, chain.nativeAddress]
  return [...new Set([...tokens.filter((token) => token === asset), ...tokens])]
}
