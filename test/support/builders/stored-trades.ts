import type { Warehouse } from '../../../core/clickhouse/client.ts'
import { createSeededRandom } from './market-trade.ts'

/** One swap as the tests know it; amounts in base units, prices null where no path to USD exists. */
export interface StoredTrade {
  readonly slot: number
  readonly txIndex: number
  readonly eventIndex: number
  readonly timeMs: number
  readonly buyToken: string
  readonly sellToken: string
  readonly buyAmount: bigint
  readonly sellAmount: bigint
  readonly buyDecimals: number | null
  readonly sellDecimals: number | null
  /** USD value as text with at most 12 places; null when unknown. */
  readonly usd: string | null
  readonly buyPrice: number | null
  readonly sellPrice: number | null
  readonly owner: string
  readonly pool: string
  readonly protocol: readonly [name: string, family: string]
  readonly suspect: boolean
}

/** The leg that candles are about: no token here is a listed quote, so the smaller address is the base. */
export const baseToken = ({ buyToken, sellToken }: StoredTrade): string =>
  buyToken < sellToken ? buyToken : sellToken

const hex = (kind: string, index: number): string =>
  `0x${kind}${index.toString(16).padStart(40 - kind.length, '0')}`

/** Tokens of the synthetic market; the last one has unknown decimals, the one before no path to USD. */
export const TOKENS = Array.from({ length: 6 }, (_, index) => hex('70', index + 1))
export const WALLETS = Array.from({ length: 5 }, (_, index) => hex('3a', index + 1))
export const POOLS = Array.from({ length: 4 }, (_, index) => hex('90', index + 1))
const PROTOCOLS = [
  ['Uniswap V2', 'uniswap_v2'],
  ['Uniswap V3', 'uniswap_v3'],
] as const
const DECIMALS: readonly (number | null)[] = [6, 18, 8, 0, 18, null]

/** Swaps in chain order: two per block, a block every 12 seconds from `startMs`. */
export const buildTrades = (count: number, startMs: number, seed = 1): readonly StoredTrade[] => {
  const random = createSeededRandom(seed)
  const below = (limit: number): number => Math.floor(random() * limit)
  return Array.from({ length: count }, (_, index): StoredTrade => {
    const buy = below(TOKENS.length)
    const sell = (buy + 1 + below(TOKENS.length - 1)) % TOKENS.length
    const priced = buy < 4 && sell < 4
    const value = priced ? below(5_000_000) + 1 : 0
    const amount =
      BigInt(below(1_000_000) + 1) * 10n ** BigInt(Math.max((DECIMALS[buy] ?? 3) - 3, 0))
    const given =
      BigInt(below(1_000_000) + 1) * 10n ** BigInt(Math.max((DECIMALS[sell] ?? 3) - 3, 0))
    const units = (raw: bigint, places: number | null): number => Number(raw) / 10 ** (places ?? 0)
    const usd = value / 1_000
    const slot = 1_000 + (index >> 1)
    return {
      slot,
      txIndex: index % 2,
      eventIndex: index % 2,
      timeMs: startMs + (slot - 1_000) * 12_000,
      buyToken: TOKENS[buy] ?? '',
      sellToken: TOKENS[sell] ?? '',
      buyAmount: amount,
      sellAmount: given,
      buyDecimals: DECIMALS[buy] ?? null,
      sellDecimals: DECIMALS[sell] ?? null,
      usd: priced ? String(usd) : null,
      buyPrice: priced ? usd / units(amount, DECIMALS[buy] ?? null) : null,
      sellPrice: priced ? usd / units(given, DECIMALS[sell] ?? null) : null,
      owner: WALLETS[below(WALLETS.length)] ?? '',
      pool: POOLS[below(POOLS.length)] ?? '',
      protocol: PROTOCOLS[below(2)] ?? PROTOCOLS[0],
      suspect: below(10) === 0,
    }
  })
}

const blockHash = (fact: StoredTrade): string => `0xb10c${fact.slot.toString(16).padStart(60, '0')}`

/** Hash of the transaction of a swap. */
export const transactionHash = (fact: StoredTrade): string =>
  `0x${(fact.slot * 2 + fact.txIndex).toString(16).padStart(64, '0')}`

/** Native coins are worth 2,000 USD in the synthetic market. */
export const NATIVE_USD = 2_000

/** The row of `{chain}_dex_trades` that a swap is stored as. */
export const storedTradeRow = (fact: StoredTrade): object => ({
  block_time: fact.timeMs,
  block_slot: fact.slot,
  block_height: fact.slot,
  block_hash: blockHash(fact),
  tx_hash: transactionHash(fact),
  tx_index: fact.txIndex,
  tx_signer: fact.owner,
  tx_fee: '21000000000000',
  tx_fee_native: '0.000021',
  tx_fee_usd: '0.042',
  tx_status: 'SUCCESS',
  event_index: fact.eventIndex,
  program_address: '0xfac0000000000000000000000000000000000001',
  protocol_name: fact.protocol[0],
  protocol_family: fact.protocol[1],
  pool_address: fact.pool,
  buy_token: fact.buyToken,
  buy_decimals: fact.buyDecimals,
  buy_amount: fact.buyAmount.toString(),
  buy_owner: fact.owner,
  buy_price_usd: fact.buyPrice,
  buy_price_native: fact.buyPrice === null ? null : fact.buyPrice / NATIVE_USD,
  buy_amount_usd: fact.usd,
  buy_amount_native: fact.usd === null ? null : String(Number(fact.usd) / NATIVE_USD),
  sell_token: fact.sellToken,
  sell_decimals: fact.sellDecimals,
  sell_amount: fact.sellAmount.toString(),
  sell_owner: fact.owner,
  sell_price_usd: fact.sellPrice,
  sell_price_native: fact.sellPrice === null ? null : fact.sellPrice / NATIVE_USD,
  sell_amount_usd: fact.usd,
  sell_amount_native: fact.usd === null ? null : String(Number(fact.usd) / NATIVE_USD),
  base_is_buy: baseToken(fact) === fact.buyToken ? 1 : 0,
  is_suspect: fact.suspect ? 1 : 0,
  _ver: fact.slot * 16_777_216 + fact.eventIndex,
})

/** Stores swaps, their blocks and the tokens that have a name: the first three. */
export const storeTrades = async (
  warehouse: Warehouse,
  chain: string,
  facts: readonly StoredTrade[],
): Promise<void> => {
  await warehouse.insert(`${chain}_dex_trades`, facts.map(storedTradeRow))
  const blocks = new Map(facts.map((fact) => [fact.slot, fact]))
  await warehouse.insert(
    `${chain}_blocks`,
    [...blocks.values()].map((fact) => ({
      block_time: fact.timeMs,
      block_slot: fact.slot,
      block_height: fact.slot,
      block_hash: blockHash(fact),
      _ver: fact.slot,
    })),
  )
  await warehouse.insert(
    `${chain}_tokens`,
    TOKENS.slice(0, 3).map((token, index) => ({
      token_address: token,
      name: `Test Coin ${index}`,
      symbol: `TC${index}`,
      decimals: DECIMALS[index],
      _ver: 1,
    })),
  )
}
