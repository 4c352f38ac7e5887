import { decimalText } from '../../core/amounts.ts'
import type { QuoteBook, Stamp } from '../../core/prices/quote-assets.ts'
import type { Block, EventMeta } from '../../schemas/wire.ts'
import { within } from '../runtime/pipeline.ts'
import { bookFor, isStable, stampsOf } from '../runtime/quote-assets.ts'
import type {
  Folding,
  Operation,
  OperationRecord,
  Publication,
  Stage,
  StageState,
} from '../runtime/stage.ts'
import { makeLayers } from '../runtime/unfinalized-store.ts'
import { type BurntAccount, type BurntChange, burningOf } from './burns.ts'
import {
  afterBurn,
  afterFacts,
  afterSupply,
  afterTrade,
  capOf,
  isSameMarket,
  type Market,
  NO_MARKET,
  worthOf,
} from './market.ts'

/** What a retraction needs beside the markets: prices of quote assets as they were for the block. */
interface Extra {
  readonly stamps: readonly (readonly [token: string, stamp: Stamp])[]
}

/** A market with the block that left it so: what a retraction brings back is told as of that block. */
interface Standing extends Market {
  readonly at?: Block
  /** The block that left its price so, where that is an older one. */
  readonly pricedAt?: Block
}

/** Where the accounts of burn addresses lie in the state. */
const BURNT = 'burnt/'

type Known = (token: string) => Standing

const isSamePrice = (one: Market, other: Market): boolean =>
  one.usd === other.usd && one.native === other.native

/** The market as a block leaves it: one that changed in another way keeps the place of its price. */
const standing = (market: Market, before: Standing, at: Block): Standing => {
  const { usd, native, supply, burnt } = market
  const pricedAt = isSamePrice(market, before) ? (before.pricedAt ?? before.at) : undefined
  return { usd, native, supply, burnt, at, ...(pricedAt && { pricedAt }) }
}

const blockOf = (meta: EventMeta): Block => ({
  timestamp: meta.block_time,
  hash: meta.hash,
  height: meta.height,
  slot: meta.slot,
})

/** What a block tells of markets beside its records. */
interface Told {
  readonly at: Block
  readonly burns: readonly BurntChange[]
  /** Stablecoins that the records are about, with their stamps. */
  readonly stables: ReadonlyMap<string, Stamp>
}

/** Markets that an operation's trades, supplies, facts and burns leave behind. A stablecoin is priced by no trade of its own. */
const marketsAfter = (
  records: readonly OperationRecord[],
  before: Known,
  { at, burns, stables }: Told,
): ReadonlyMap<string, Standing> => {
  const values = new Map<string, Standing>()
  const note = (token: string, next: (market: Market) => Market): void => {
    const market = values.get(token) ?? before(token)
    const after = next(market)
    if (!isSameMarket(after, market)) values.set(token, standing(after, before(token), at))
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
        if (token !== undefined) note(token, (market) => afterFacts(market, event))
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

/** One record for one: supplies with their market cap, transfers with their worth. */
const enriched = (
  records: readonly OperationRecord[],
  known: Known,
  stamps: ReadonlyMap<string, Stamp>,
): readonly Publication[] =>
  records.flatMap((record): readonly Publication[] => {
    const { topic, key } = record
    if (topic === 'tokenSupplies') {
      const events = record.value.events.map((event) => {
        const token = event.token_supply?.token_address ?? ''
        return { ...event, market_cap: capOf(token, known(token)) }
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
          transfer_processed: worthOf(transfer, stamps.get(token) ?? known(token)),
        }
      })
      return [{ topic: 'transfersProcessed', key, value: { ...record.value, events } }]
    }
    return []
  })

/** Upserts of the tokens whose price or supply is another one now; nothing at all where only a lost block knew the token. */
const upserts = (
  meta: EventMeta,
  changes: readonly { readonly token: string; readonly before: Market; readonly now: Standing }[],
): readonly Publication[] => {
  const headOf = (block: Block | undefined) => ({
    ...{ instruction: null, block: block ?? null, transaction: null, d_app: null },
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
                price_in_usd: decimalText(now.usd),
                price_in_native: decimalText(now.native),
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
          events: [{ market_cap: capOf(token, now), ...headOf(now.at) }],
        },
      }),
    ),
  ]
}

const stablesOf = (
  records: readonly OperationRecord[],
  stamps: ReadonlyMap<string, Stamp>,
  book: QuoteBook,
): ReadonlyMap<string, Stamp> =>
  new Map(
    records.flatMap(({ key }) => {
      const stamp = isStable(key, book) ? stamps.get(key) : undefined
      return stamp === undefined ? [] : [[key, stamp] as const]
    }),
  )

const loadMarkets = (state: StageState, given?: QuoteBook): Folding => {
  const layers = makeLayers<Standing, Extra>(state)
  const burnt = makeLayers<BurntAccount, null>(within(state, BURNT))
  const known: Known = (token) => layers.get(token) ?? NO_MARKET
  const apply = ({ block, records }: Operation): readonly Publication[] => {
    const { meta } = block
    const { hash, height, block_time: timeMs } = meta
    const burning = burningOf(meta.chain, records, burnt.get)
    const book = bookFor(meta.chain, given)
    const stamps = stampsOf(block, book)
    const stables = stablesOf(records, stamps, book)
    const values = marketsAfter(records, known, {
      ...{ at: blockOf(meta), burns: burning.changes, stables },
    })
    const changes = [...values].map(([token, now]) => ({ token, before: known(token), now }))
    if (records.length > 0) {
      layers.apply({ hash, height, timeMs, values, extra: { stamps: [...stamps] } })
      burnt.apply({ hash, height, timeMs, values: burning.accounts, extra: null })
    }
    return [...enriched(records, known, stamps), ...upserts(meta, changes)]
  }
  const revert = ({ block, records }: Operation): readonly Publication[] => {
    if (records.length === 0) return []
    const { meta } = block
    const extra = layers.extra(meta.hash)
    const published = enriched(records, known, new Map(extra?.stamps ?? []))
    burnt.revert(meta.hash)
    const removed = [...(layers.revert(meta.hash)?.values ?? [])]
    const changes = removed.map(([token, before]) => ({
      token,
      before: before ?? NO_MARKET,
      now: known(token),
    }))
    return [...published, ...upserts(meta, changes)]
  }
  return {
    step: (operation) => {
      const { meta, final_height: height } = operation.block
      if (meta.op === 'OP_REVERT') return revert(operation)
      if (meta.op === 'OP_APPLY') return apply(operation)
      layers.finalize(height)
      burnt.finalize(height)
      return []
    },
    flush: () => ({
      publications: [],
      changes: [
        ...layers.changes(),
        ...burnt.changes().map(([key, text]) => [BURNT + key, text] as const),
      ],
    }),
  }
}

/**
 * Prices, supplies, what of them is burnt, and what follows from all: `token-prices` and `token-market-caps.processed`,
 * upserts per change; `token-supplies.processed` and `transfers.processed`, one record for one. A transfer counts at its
 * token's last good price in its lane after the block's trades; quote assets at the block's own price table (R37), by which
 * stablecoins are priced wherever they move.
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
