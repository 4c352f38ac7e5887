import { parseMoveType } from '../../../core/move-type.ts'
import type { MoveObject, MoveTransaction, TokenCreation } from '../../../schemas/events.ts'
import { cleanText } from '../../input/text.ts'

const FRAMEWORK = `0x${'2'.padStart(64, '0')}`

/** Objects that only a new coin has; its type is their argument. Source: MystenLabs/sui, packages sui-framework. */
const NEW_COIN_OBJECT_TYPES: ReadonlySet<string> = new Set([
  'coin::CoinMetadata',
  'coin::TreasuryCap',
  'coin_registry::Currency',
])

/** Longest name and symbol that are shown. */
export const MAX_NAME_LENGTH = 100
export const MAX_SYMBOL_LENGTH = 32

/**
 * Coins that a transaction made: it published their package and made the objects that come with a coin. Names and decimals
 * where the node gave the fields of those objects; how many there are of it is not stated.
 */
export const coinCreations = (tx: MoveTransaction): readonly TokenCreation[] => {
  const packages = new Set(
    tx.objects.flatMap(({ change, id }) => (change === 'published' ? [id] : [])),
  )
  if (packages.size === 0) return []
  const coins = new Map<string, MoveObject['fields']>()
  for (const object of tx.objects) {
    const coin = object.change === 'created' ? coinOfMetadataObject(object) : undefined
    if (coin === undefined || !packages.has(parseMoveType(coin)?.package ?? '')) continue
    const known = coins.get(coin) ?? null
    coins.set(coin, known?.decimals === undefined ? object.fields : known)
  }
  return [...coins].map(([coin, fields]) => coinCreationOf(tx, coin, fields))
}

const coinOfMetadataObject = ({ type }: MoveObject): string | undefined => {
  const reported = parseMoveType(type)
  return reported?.package === FRAMEWORK && NEW_COIN_OBJECT_TYPES.has(reported.name)
    ? reported.typeArguments[0]
    : undefined
}

const coinCreationOf = (
  tx: MoveTransaction,
  coin: string,
  fields: MoveObject['fields'],
): TokenCreation => {
  const text = (value: unknown, limit: number): string | null =>
    typeof value === 'string' ? cleanText(value, limit) : null
  const decimals = fields?.decimals
  const isCount = typeof decimals === 'number' && Number.isInteger(decimals)
  return {
    kind: 'token-created',
    txIndex: tx.index,
    logIndex: (tx.events.at(-1)?.index ?? -1) + 1,
    metadata: {
      address: coin,
      decimals: isCount && decimals >= 0 && decimals <= 255 ? decimals : null,
      name: text(fields?.name, MAX_NAME_LENGTH),
      symbol: text(fields?.symbol, MAX_SYMBOL_LENGTH),
      totalSupplyRaw: null,
    },
    dev: tx.from,
    creators: [tx.from],
    launch: null,
  }
}
