import { storedAddress } from '../../core/addresses.ts'
import { formatDecimal, formatUnits, parseUnits } from '../../core/amounts.ts'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import type { ChainExtra } from '../../core/config/settings.ts'
import { nativeTokensOf } from '../../core/prices/native-token.ts'
import type { KytWithdrawal } from '../../schemas/api/risk.ts'
import { type PriceRow, priceQuery } from '../queries/token-history.ts'
import type { AssessmentRequest } from './assessment.ts'
import { isTooExpensive, STATEMENT_BUDGET } from './graph-reader.ts'

type WithdrawalRequest = AssessmentRequest & { readonly kind: 'withdrawal' }

/** Places of amounts and prices that are multiplied: as many as the pattern of requests allows. */
const DECIMAL_PLACES = 40

/** A price that is not read by then is not known. */
const PRICE_BUDGET = { ...STATEMENT_BUDGET, seconds: 5 }

/** Price of the request; null: it has none, or one in another currency than US dollars. */
const givenPrice = ({ assetPrice, assetDenomination }: WithdrawalRequest): string | null =>
  (assetDenomination ?? 'USD').toUpperCase() === 'USD' ? assetPrice : null

/** Value of a withdrawal by the price of its request, or by `assetPriceUsd`, the one of this installation, US dollars. */
export const withdrawalValue = (
  request: WithdrawalRequest,
  assetPriceUsd: string | null = null,
): Pick<KytWithdrawal, 'usdAmount' | 'usdPriceSource'> => {
  const given = givenPrice(request)
  const price = given ?? assetPriceUsd
  if (price === null) return { usdAmount: '0', usdPriceSource: null }
  const [amountRaw, priceRaw] = [request.assetAmount, price].map((text) =>
    parseUnits(text, DECIMAL_PLACES),
  ) as [bigint, bigint]
  return {
    usdAmount: formatUnits(amountRaw * priceRaw, 2 * DECIMAL_PLACES),
    usdPriceSource: given === null ? 'market' : 'request',
  }
}

/** Tokens whose price is that of the asset, those that count first. A symbol names the native token only: others share one. */
const pricedTokens = (
  { chain, asset, assetId }: WithdrawalRequest,
  extra: ChainExtra | undefined,
): readonly string[] => {
  const names = [asset, assetId ?? ''].map((name) => storedAddress(chain, name) ?? name)
  const natives = names.map((name) => nativeTokensOf(chain, name, extra))
  const named = names.filter((name) => storedAddress(chain, name) !== undefined)
  return natives.find((tokens) => tokens.length > 0) ?? named.slice(0, 1)
}

/** Newest price of a withdrawal's asset here at `atMs`, US dollars; null: none is known, or the request has one. */
export const readAssetPrice = async (
  {
    warehouse,
    chainExtra,
  }: {
    readonly warehouse: Pick<Warehouse, 'query'>
    readonly chainExtra?: Readonly<Record<string, ChainExtra>> | undefined
  },
  request: WithdrawalRequest,
  atMs: number,
): Promise<string | null> => {
  if (givenPrice(request) !== null) return null
  const { chain } = request
  try {
    for (const token of pricedTokens(request, chainExtra?.[chain])) {
      const query = priceQuery(chain, token, atMs)
      const { rows } = await warehouse.query<PriceRow>(query, { budget: PRICE_BUDGET })
      const [row] = rows
      if (row !== undefined) return priceText(row.price_usd)
    }
    return null
  } catch (error) {
    // What was found out about the target counts for more than its value.
    if (isTooExpensive(error)) return null
    throw error
  }
}

/** A price with no more places than are multiplied. */
const priceText = (price: number): string => {
  const text = formatDecimal(price)
  const point = text.indexOf('.')
  return point === -1 ? text : text.slice(0, point + 1 + DECIMAL_PLACES)
}
