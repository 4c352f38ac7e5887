import { formatDecimal } from '../../core/amounts.ts'
import type { QuoteAssetPrice, QuoteAssets } from '../../core/prices/quote-assets.ts'
import type { Block, EventMeta } from '../../schemas/wire.ts'
import { prefixedState } from '../runtime/pipeline.ts'
import { blockPricesOf, isStablecoin, quoteAssetsOf } from '../runtime/quote-assets.ts'
import type {
  Operation,
  OperationRecord,
  Publication,
  Stage,
  StageProcessor,
  StageState,
} from '../runtime/stage.ts'
import { createVersionedStore } from '../runtime/versioned-store.ts'
import { type BurnAccount, type BurnAccountChange, blockBurns } from './burns.ts'
import {
  afterBurn,
  afterMetadata,
  afterSupply,
  afterTrade,
  isSameMarket,
  type Market,
  marketCapOf,
  NO_MARKET,
  transferValue,
} from './market.ts'

/** What a retraction needs beside the markets: prices of quote assets and the native token as they were for the block. */
interface StoredQuotePrices {
  readonly stamps: readonly (readonly [token: string, stamp: QuoteAssetPrice])[]
}

/** A market with the block that left it so: what a retraction brings back is told as of that block. */
interface MarketAt extends Market {
  readonly at?: Block
  /** The block that left its price so, where that is an older one. */
  readonly pricedAt?: Block
}

/** Where the accounts of burn addresses lie in the state. */
const BURNS_PREFIX = 'burnt/'

type MarketLookup = (token: string) => MarketAt

const isSamePrice = (one: Market, other: Market): boolean =>
  one.usd === other.usd && one.native === other.native

/** The market as a block leaves it: one that changed in another way keeps the block of its price. */
const toMarketAt = (market: Market, before: MarketAt, at: Block): MarketAt => {
  const { usd, native, supply, burnt } = market
  const pricedAt = isSamePrice(market, before) ? (before.pricedAt ?? before.at) : undefined
  return { usd, native, supply, burnt, at, ...(pricedAt && { pricedAt }) }
}

const toBlock = (meta: EventMeta): Block => ({
  timestamp: meta.block_time,
  hash: meta.hash,
  height: meta.height,
  slot: meta.slot,
})

/** What a block tells of markets beside its records. */
interface BlockContext {
  readonly at: Block
  readonly burns: readonly BurnAccountChange[]
  /** Stablecoins that the records are about, with their stamps. */
  readonly stables: ReadonlyMap<string, QuoteAssetPrice>
}

/** Markets that an operation's trades, supplies, metadata and burns leave behind. A stablecoin is priced by no trade of its own. */
const marketsAfter = (
  records: readonly OperationRecord[],
  before: MarketLookup,
  { at, burns, stables }: BlockContext,
): ReadonlyMap<string, MarketAt> => {
  const values = new Map<string, MarketAt>()
  const note = (token: string, next: (market: Market) => Market): void => {
    const market = values.get(token) ?? before(token)
    const after = next(market)
    if (!isSameMarket(after, market)) values.set(token, toMarketAt(after, before(token), at))
  }
  for (const { topic, value } of records) {
    if (topic === 'tokenSupplies') {
      for (const event of value.events) {
        const token = event.token_supply?.token_address
        if (token !== undefined) note(token, (market) => afterSupply(market, event))
      }
    } else if (topic === 'tokens' || topic === 'tokenMetadata') {
      for (const event of value.events) {
        const token = event.token?.address
        if (token !== undefined) note(token, (market) => afterMetadata(market, event))
      }
    } else if (topic === 'tradesProcessed') {
      for (const event of value.events) {
        const token = event.trade?.token_a_address
        if (token === undefined || stables.has(token)) continue
        note(token, (market) => afterTrade(market, event))
      }
    }
  }
  for (const [token, { usd, native }] of stables)
    note(token, (market) => ({ ...market, usd, native }))
  for (const burn of burns) note(burn.token, (market) => afterBurn(market, burn))
  return values
}

/** One record for one: supplies with the market cap of their own supply at the price behind the block, transfers with their worth. */
const enrichRecords = (
  records: readonly OperationRecord[],
  known: MarketLookup,
  stamps: ReadonlyMap<string, QuoteAssetPrice>,
): readonly Publication[] =>
  records.flatMap((record): readonly Publication[] => {
    const { topic, key } = record
    if (topic === 'tokenSupplies') {
      const events = record.value.events.map((event) => {
        const token = event.token_supply?.token_address ?? ''
        return { ...event, market_cap: marketCapOf(token, afterSupply(known(token), event)) }
      })
      return [{ topic: 'tokenSuppliesProcessed', key, value: { ...record.value, events } }]
    }
    if (topic === 'transfers') {
      const events = record.value.events.map((event) => {
        const { transfer } = event
        if (transfer === null) return event
        const token = transfer.token_address
        return {
          ...event,
          transfer_processed: transferValue(transfer, stamps.get(token) ?? known(token)),
        }
      })
      return [{ topic: 'transfersProcessed', key, value: { ...record.value, events } }]
    }
    return []
  })

/** Upserts of the tokens whose price or supply is another one now; nothing at all where only a lost block knew the token. */
const marketUpserts = (
  meta: EventMeta,
  changes: readonly { readonly token: string; readonly before: Market; readonly now: MarketAt }[],
): readonly Publication[] => {
  const headOf = (block: Block | undefined) => ({
    instruction: null,
    block: block ?? null,
    transaction: null,
    d_app: null,
  })
  const priced = changes.filter(({ before, now }) => !isSamePrice(before, now))
  const at = (part: number, parts: number): EventMeta => ({ ...meta, op: 'OP_APPLY', part, parts })
  return [
    ...priced.map(
      ({ token, now }, part): Publication => ({
        topic: 'tokenPrices',
        key: token,
        value: {
          meta: at(part, priced.length),
          events: [
            {
              token_price: {
                token_address: token,
                price_in_usd: formatDecimal(now.usd),
                price_in_native: formatDecimal(now.native),
              },
              ...headOf(now.pricedAt ?? now.at),
            },
          ],
        },
      }),
    ),
    ...changes.map(
      ({ token, now }, part): Publication => ({
        topic: 'tokenMarketCaps',
        key: token,
        value: {
          meta: at(part, changes.length),
          events: [{ market_cap: marketCapOf(token, now), ...headOf(now.at) }],
        },
      }),
    ),
  ]
}

const stablecoinPrices = (
  records: readonly OperationRecord[],
  stamps: ReadonlyMap<string, QuoteAssetPrice>,
  quoteAssets: QuoteAssets,
): ReadonlyMap<string, QuoteAssetPrice> =>
  new Map(
    records.flatMap(({ key }) => {
      const price = isStablecoin(key, quoteAssets) ? stamps.get(key) : undefined
      return price === undefined ? [] : [[key, price] as const]
    }),
  )

const loadMarkets = (state: StageState, given?: QuoteAssets): StageProcessor => {
  const layers = createVersionedStore<MarketAt, StoredQuotePrices>(state)
  const burns = createVersionedStore<BurnAccount, null>(prefixedState(state, BURNS_PREFIX))
  const known: MarketLookup = (token) => layers.get(token) ?? NO_MARKET
  const apply = ({ block, records }: Operation): readonly Publication[] => {
    const { meta } = block
    const { hash, height, block_time: timeMs } = meta
    const operationBurns = blockBurns(meta.chain, records, burns.get)
    const quoteAssets = quoteAssetsOf(meta.chain, given)
    const stamps = blockPricesOf(block, quoteAssets)
    const stables = stablecoinPrices(records, stamps, quoteAssets)
    const values = marketsAfter(records, known, {
      at: toBlock(meta),
      burns: operationBurns.changes,
      stables,
    })
    const changes = [...values].map(([token, now]) => ({ token, before: known(token), now }))
    if (records.length > 0) {
      layers.apply({ hash, height, timeMs, values, extra: { stamps: [...stamps] } })
      burns.apply({ hash, height, timeMs, values: operationBurns.accounts, extra: null })
    }
    return [...enrichRecords(records, known, stamps), ...marketUpserts(meta, changes)]
  }
  const revert = ({ block, records }: Operation): readonly Publication[] => {
    if (records.length === 0) return []
    const { meta } = block
    const extra = layers.extra(meta.hash)
    const published = enrichRecords(records, known, new Map(extra?.stamps ?? []))
    burns.revert(meta.hash)
    const removed = [...(layers.revert(meta.hash)?.values ?? [])]
    const changes = removed.map(([token, before]) => ({
      token,
      before: before ?? NO_MARKET,
      now: known(token),
    }))
    return [...published, ...marketUpserts(meta, changes)]
  }
  return {
    step: (operation) => {
      const { meta, final_height: height } = operation.block
      if (meta.op === 'OP_REVERT') return revert(operation)
      if (meta.op === 'OP_APPLY') return apply(operation)
      layers.finalize(height)
      burns.finalize(height)
      return []
    },
    flush: () => ({
      publications: [],
      changes: [
        ...layers.changes(),
        ...burns.changes().map(([key, text]) => [BURNS_PREFIX + key, text] as const),
      ],
    }),
  }
}

/**
 * Prices, supplies, what of them is burnt, and what follows from all: `token-prices` and `token-market-caps.processed`,
 * upserts per change; `token-supplies.processed` and `transfers.processed`, one record for one. A transfer counts at its
 * token's last good price in its lane after the block's trades; quote assets and the native token at the block's own price
 * table, by which stablecoins are priced wherever they move.
 */
export const MARKETS: Stage = {
  app: 'markets',
  inputs: [
    'tokens',
    'tokenMetadata',
    'tokenSupplies',
    'tradesProcessed',
    'transfers',
    'holderDeltas',
  ],
  outputs: ['tokenPrices', 'tokenMarketCaps', 'tokenSuppliesProcessed', 'transfersProcessed'],
  load: loadMarkets,
}
