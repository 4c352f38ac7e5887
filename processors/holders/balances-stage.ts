import { formatDecimal } from '../../core/amounts.ts'
import { InvalidInput } from '../../core/errors.ts'
import {
  type QuoteAssetPrice,
  type QuoteAssets,
  UNKNOWN_QUOTE_ASSET_PRICE,
} from '../../core/prices/quote-assets.ts'
import { chainRow } from '../../schemas/chains.ts'
import type { Balance, BalanceEvent, BalanceProcessed, BlockEvent } from '../../schemas/wire.ts'
import { createEnrichmentProcessor, type Enrichment } from '../runtime/enrichment.ts'
import { blockPricesOf, quoteAssetsByChain } from '../runtime/quote-assets.ts'
import type { Stage } from '../runtime/stage.ts'
import { multiply, tokenUnits } from '../runtime/valuation.ts'

/** What an owner, or one of its token accounts, holds of a token, and when it was seen. */
interface SeenBalance {
  readonly raw: string
  readonly firstMs: number
  readonly lastMs: number
}

/** A token's price and decimals where the chain itself prices it: quote assets and the native token. */
interface TokenPricing {
  readonly price: QuoteAssetPrice
  readonly decimals: number | null
}

const NO_PRICING: TokenPricing = { price: UNKNOWN_QUOTE_ASSET_PRICE, decimals: null }

/** Prices of one block, reckoned once for all of its balances. */
const createPricingLookup = (
  given?: QuoteAssets,
): ((token: string, block: BlockEvent) => TokenPricing) => {
  const quoteAssetsFor = quoteAssetsByChain(given)
  let known:
    | { readonly block: BlockEvent; readonly prices: ReadonlyMap<string, QuoteAssetPrice> }
    | undefined
  return (token, block) => {
    const { chain } = block.meta
    const row = chainRow(chain)
    const quoteAssets = quoteAssetsFor(chain)
    const isNative = token === row?.nativeAddress
    const asset = quoteAssets.assets.get(token)
    if (!isNative && asset === undefined) return NO_PRICING
    if (known?.block !== block) known = { block, prices: blockPricesOf(block, quoteAssets) }
    return {
      price: known.prices.get(token) ?? UNKNOWN_QUOTE_ASSET_PRICE,
      decimals: isNative ? (row?.nativeDecimals ?? null) : (asset?.decimals ?? null),
    }
  }
}

const balanceValues = (balance: Balance, { price, decimals }: TokenPricing) => {
  const value = (amount: string, price: number | null): string =>
    price === null
      ? ''
      : formatDecimal(multiply(tokenUnits(amount, balance.decimals ?? decimals), price))
  return {
    pre_amount_in_native: value(balance.pre_amount, price.native),
    pre_amount_in_usd: value(balance.pre_amount, price.usd),
    post_amount_in_native: value(balance.post_amount, price.native),
    post_amount_in_usd: value(balance.post_amount, price.usd),
    token_price_in_usd: formatDecimal(price.usd),
  }
}

type BalanceEnrichment = Enrichment<BalanceEvent, BalanceProcessed, SeenBalance>

const balanceEnrichment = (
  money: (token: string, block: BlockEvent) => TokenPricing,
): BalanceEnrichment => ({
  batches: ({ records }) =>
    records.flatMap(({ topic, key, value }) => (topic === 'balances' ? [{ key, value }] : [])),
  enrich: ({ balance }, known, { timeMs }, block) => {
    if (balance === null) throw new InvalidInput('balance', 'a balance event without a balance')
    const { account_owner_address: owner, token_address: token, post_amount: post } = balance
    const account = balance.token_account_address
    const ownerKey = `o/${owner}|${token}`
    const before = known(ownerKey)
    // Where an owner is its own account the sum is that account.
    const accountKey = account === '' || account === owner ? null : `a/${owner}|${token}|${account}`
    const held = accountKey === null ? before : known(accountKey)
    const sum = BigInt(before?.raw ?? 0) + BigInt(post) - BigInt(held?.raw ?? 0)
    const firstMs = before?.firstMs ?? timeMs
    const seen = { firstMs, lastMs: timeMs }
    const owned = [ownerKey, { raw: String(sum), ...seen }] as const
    return {
      // An empty account is as good as one that was never seen.
      writes:
        accountKey === null
          ? [owned]
          : [owned, [accountKey, post === '0' ? null : { raw: post, ...seen }]],
      processed: {
        owner_post_amount: String(sum),
        ...balanceValues(balance, money(token, block)),
        owner_pre_amount: before?.raw ?? '0',
        owner_first_time: firstMs,
        owner_pre_time: before?.lastMs ?? 0,
      },
    }
  },
  finish: (event, processed) => ({ ...event, balance_processed: processed }),
  publish: ({ key, value }) => ({
    topic: 'balancesProcessed',
    key,
    value: { meta: value.meta, events: value.events },
  }),
})

/**
 * `balances` to `balances.processed`, one record for one: what the owner holds over all accounts of it that were seen, before and
 * after, when it was first seen, and the value of quote assets and the native token. Other tokens' values stay "": their price
 * lies in another lane, readers join the newest one.
 */
export const BALANCES: Stage = {
  app: 'balances',
  inputs: ['balances'],
  outputs: ['balancesProcessed'],
  load: (state, quoteAssets) =>
    createEnrichmentProcessor(balanceEnrichment(createPricingLookup(quoteAssets)), state),
}
