import { formatDecimal, formatUnits } from '../../core/amounts.ts'
import { Fault } from '../../core/errors.ts'
import { type ChainRow, chainRow, nativeTokenName } from '../../schemas/chains.ts'
import { type TokenName, tokenNamesQuery } from '../queries/token-names.ts'
import type { ChainRequest } from './chain-route.ts'

/** Values of REST bodies from the values of rows. */

/** A double as text, null when it is not known. */
export const numberTextOrNull = (value: number | null): string | null =>
  value === null || !Number.isFinite(value) ? null : formatDecimal(value)

/** For fields that stock clients require as text: "0" when it is not known. */
export const requiredText = (value: string | null): string => value ?? '0'

/** Base units as token units; with unknown decimals null. */
export const unitsOrNull = (raw: string | null, decimals: number | null): string | null =>
  raw === null || decimals === null ? null : formatUnits(BigInt(raw), decimals)

/** Text, null when it is empty. */
export const textOrNull = (text: string): string | null => (text === '' ? null : text)

/** A quotient, null when either side is unknown or the divisor 0. */
export const ratioOrNull = (one: number | null, other: number | null): number | null =>
  one === null || other === null || other === 0 ? null : one / other

/** A product, null when either side is unknown. */
export const productOrNull = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : one * other

/** Text as a number, null stays null. */
export const numberOrNull = (text: string | null): number | null =>
  text === null ? null : Number(text)

/** `2026-02-09 08:05:12.345000+00:00`: times that are text. */
export const formatTime = (ms: number): string =>
  `${new Date(ms).toISOString().replace('T', ' ').replace('Z', '000')}+00:00`

/** True unless the query says `asc`. */
export const isDescending = (direction: string | undefined): boolean =>
  direction?.toLowerCase() !== 'asc'

/** Most different words of a list parameter: what is done for a word is done for each of them. */
const MAX_LIST_WORDS = 128

/**
 * The different words of a list parameter that is repeated or separated by commas. Throws `Fault` INVALID_PARAMETER for more
 * than 128.
 */
export const splitList = (
  list: readonly string[] | undefined,
  parameter: string,
): readonly string[] => {
  const words = new Set(
    (list ?? [])
      .flatMap((text) => text.split(','))
      .map((text) => text.trim())
      .filter((text) => text !== ''),
  )
  if (words.size > MAX_LIST_WORDS) {
    const details = { parameter, max_allowed: MAX_LIST_WORDS }
    throw new Fault('INVALID_PARAMETER', `${parameter} has too many values`, details)
  }
  return [...words]
}

/** A row with the name of the chain's native token where it has none; the native token itself has no row. */
const namedRow = (
  chain: ChainRow | undefined,
  address: string,
  row: TokenName | undefined,
): TokenName | undefined => {
  const nativeToken = chain && nativeTokenName(chain, address)
  if (!nativeToken) return row
  const named = row ?? { token_address: address, ...nativeToken, image_url: '' }
  return {
    ...named,
    name: named.name || nativeToken.name,
    symbol: named.symbol || nativeToken.symbol,
  }
}

/** Names of tokens by address, those of the native token from the chain's row where no table has one; unknown ones are missing. */
export const readTokenNames = async (
  { chain, rows }: Pick<ChainRequest<object, object>, 'chain' | 'rows'>,
  addresses: readonly string[],
): Promise<ReadonlyMap<string, TokenName>> => {
  const wanted = [...new Set(addresses)]
  if (wanted.length === 0) return new Map()
  const names = await rows<TokenName>(tokenNamesQuery(chain.id, wanted))
  const byAddress = new Map(names.map((row) => [row.token_address, row]))
  const row = chainRow(chain.id)
  return new Map(
    wanted.flatMap((address) => {
      const named = namedRow(row, address, byAddress.get(address))
      return named ? [[address, named] as const] : []
    }),
  )
}

/** A number as text; "0" where it is not known. */
export const requiredNumberText = (value: number | null): string =>
  requiredText(numberTextOrNull(value))
