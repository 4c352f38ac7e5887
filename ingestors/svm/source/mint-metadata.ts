import { CHAINS } from '../../../schemas/chains.ts'
import type { TokenMetadata } from '../../../schemas/events.ts'
import { cleanText } from '../../input/text.ts'
import { dataViewOf, readPubkey, readStrings, u64 } from '../layout/borsh-layout.ts'
import { PROGRAM_IDS } from '../programs/programs.ts'
import type { AccountInfo } from './accounts.ts'

/** Layout of a mint account. Source: solana-program/token state.rs; options are four bytes in front of the key. */
const MINT_LAYOUT = {
  mintAuthority: 0,
  supply: 36,
  decimals: 44,
  isInitialized: 45,
  freezeAuthority: 46,
  end: 82,
} as const
/**
 * Mints of wrapped SOL: their accounts hold SOL, which the mint does not count, and it says 0. Source: module native_mint of SPL
 * token and of Token-2022.
 */
const WRAPPED_SOL_MINTS: ReadonlySet<string> = new Set([
  CHAINS.sol.wrappedNative,
  '9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP',
])
/** Token-2022 puts the account's kind behind the largest base layout, then type-length-value entries. */
const ACCOUNT_TYPE = { at: 165, mint: 1 } as const
const FIRST_EXTENSION = 166
/** Entry that holds name, symbol and URI behind an optional authority and the mint. Source: token-2022 extension. */
const METADATA_EXTENSION = { type: 19, stringsOffset: 64 } as const
/** Metaplex metadata: kind (4 = metadata), authority, mint, then the texts. Source: mpl-token-metadata state. */
const METAPLEX_LAYOUT = { kind: 4, texts: 65 } as const
/** Longer texts are not names. */
const MAX_LENGTH = { name: 128, symbol: 64, uri: 512 } as const

/** Name, symbol and address of the document of a token. */
type MintMetadata = Pick<TokenMetadata, 'name' | 'symbol'> & { readonly uri?: string }

/** What a mint account says of its token, texts left out; undefined for any other account. */
export const parseMintAccount = (
  address: string,
  account: AccountInfo,
): TokenMetadata | undefined => {
  const { owner, data } = account
  const isToken = owner === PROGRAM_IDS.token || owner === PROGRAM_IDS.token2022
  if (!isToken || data.length < MINT_LAYOUT.end || data[MINT_LAYOUT.isInitialized] !== 1)
    return undefined
  if (data.length > MINT_LAYOUT.end && data[ACCOUNT_TYPE.at] !== ACCOUNT_TYPE.mint) return undefined
  const view = dataViewOf(data)
  const authority = (at: number): string | undefined =>
    view.getUint32(at, true) === 1 ? readPubkey(data, at + 4) : undefined
  const mintAuthority = authority(MINT_LAYOUT.mintAuthority)
  const freezeAuthority = authority(MINT_LAYOUT.freezeAuthority)
  return {
    address,
    decimals: view.getUint8(MINT_LAYOUT.decimals),
    name: null,
    symbol: null,
    totalSupplyRaw: WRAPPED_SOL_MINTS.has(address) ? null : u64(view, MINT_LAYOUT.supply),
    program: owner,
    ...(mintAuthority !== undefined && { mintAuthority }),
    ...(freezeAuthority !== undefined && { freezeAuthority }),
  }
}

/** Texts that a Token-2022 mint carries itself; undefined when it has none. */
export const token2022Metadata = ({ data }: AccountInfo): MintMetadata | undefined => {
  const view = dataViewOf(data)
  for (let at = FIRST_EXTENSION; at + 4 <= data.length; ) {
    const type = view.getUint16(at, true)
    const length = view.getUint16(at + 2, true)
    const start = at + 4
    if (type === METADATA_EXTENSION.type) {
      return parseMetadataStrings(
        data.subarray(start, start + length),
        METADATA_EXTENSION.stringsOffset,
      )
    }
    at = start + length
  }
  return undefined
}

/** Texts of a Metaplex metadata account; undefined for any other account. */
export const metaplexMetadata = ({ owner, data }: AccountInfo): MintMetadata | undefined =>
  owner === PROGRAM_IDS.metadata && data[0] === METAPLEX_LAYOUT.kind
    ? parseMetadataStrings(data, METAPLEX_LAYOUT.texts)
    : undefined

const parseMetadataStrings = (data: Uint8Array, at: number): MintMetadata | undefined => {
  const [name, symbol, uri] = readStrings(data, at, 3)?.texts ?? []
  if (name === undefined || symbol === undefined || uri === undefined) return undefined
  const shown = cleanText(uri, MAX_LENGTH.uri)
  return {
    name: cleanText(name, MAX_LENGTH.name),
    symbol: cleanText(symbol, MAX_LENGTH.symbol),
    ...(shown !== null && { uri: shown }),
  }
}
