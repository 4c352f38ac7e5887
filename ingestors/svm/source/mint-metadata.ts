import type { TokenFact } from '../../../schemas/events.ts'
import { cleanText } from '../../input/text.ts'
import { keyAt, textsAt, u64, viewOf } from '../layout/layout.ts'
import { PROGRAM } from '../programs/programs.ts'
import type { Account } from './accounts.ts'

/** Layout of a mint account. Source: solana-program/token state.rs; options are four bytes in front of the key. */
const MINT = {
  mintAuthority: 0,
  supply: 36,
  decimals: 44,
  isInitialized: 45,
  freezeAuthority: 46,
  end: 82,
} as const
/** Token-2022 puts the account's kind behind the largest base layout, then type-length-value entries. */
const KIND = { at: 165, mint: 1 } as const
const FIRST_ENTRY = 166
/** Entry that holds name, symbol and URI behind an optional authority and the mint. Source: token-2022 extension. */
const METADATA_ENTRY = { type: 19, texts: 64 } as const
/** Metaplex metadata: kind (4 = metadata), authority, mint, then the texts. Source: mpl-token-metadata state. */
const METAPLEX = { kind: 4, texts: 65 } as const
/** Texts beyond this are nobody's name. */
const LIMIT = { name: 128, symbol: 64, uri: 512 } as const

/** Name, symbol and address of the document of a token. */
type MintTexts = Pick<TokenFact, 'name' | 'symbol'> & { readonly uri?: string }

/** What a mint account says of its token, texts left out; undefined for an account that is none. */
export const mintFact = (address: string, account: Account): TokenFact | undefined => {
  const { owner, data } = account
  const isToken = owner === PROGRAM.token || owner === PROGRAM.token2022
  if (!isToken || data.length < MINT.end || data[MINT.isInitialized] !== 1) return undefined
  if (data.length > MINT.end && data[KIND.at] !== KIND.mint) return undefined
  const view = viewOf(data)
  const authority = (at: number): string | undefined =>
    view.getUint32(at, true) === 1 ? keyAt(data, at + 4) : undefined
  const mintAuthority = authority(MINT.mintAuthority)
  const freezeAuthority = authority(MINT.freezeAuthority)
  return {
    address,
    decimals: view.getUint8(MINT.decimals),
    name: null,
    symbol: null,
    totalSupplyRaw: u64(view, MINT.supply),
    program: owner,
    ...(mintAuthority !== undefined && { mintAuthority }),
    ...(freezeAuthority !== undefined && { freezeAuthority }),
  }
}

/** Texts that a Token-2022 mint carries itself; undefined when it has none. */
export const ownTexts = ({ data }: Account): MintTexts | undefined => {
  const view = viewOf(data)
  for (let at = FIRST_ENTRY; at + 4 <= data.length; ) {
    const type = view.getUint16(at, true)
    const length = view.getUint16(at + 2, true)
    const start = at + 4
    if (type === METADATA_ENTRY.type) {
      return textsOf(data.subarray(start, start + length), METADATA_ENTRY.texts)
    }
    at = start + length
  }
  return undefined
}

/** Texts of a Metaplex metadata account; undefined for an account that is none. */
export const metaplexTexts = ({ owner, data }: Account): MintTexts | undefined =>
  owner === PROGRAM.metadata && data[0] === METAPLEX.kind
    ? textsOf(data, METAPLEX.texts)
    : undefined

const textsOf = (data: Uint8Array, at: number): MintTexts | undefined => {
  const [name, symbol, uri] = textsAt(data, at, 3)?.texts ?? []
  if (name === undefined || symbol === undefined || uri === undefined) return undefined
  const shown = cleanText(uri, LIMIT.uri)
  return {
    name: cleanText(name, LIMIT.name),
    symbol: cleanText(symbol, LIMIT.symbol),
    ...(shown !== null && { uri: shown }),
  }
}
