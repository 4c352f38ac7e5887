import { Fault } from '../../core/errors.ts'
import { normalizeQueryTime } from '../../core/time.ts'
import {
  MINT_BURN_QUERY,
  PRICE_QUERY,
  TOKEN_PARAM,
  TOKEN_TRANSFER_QUERY,
  TOKEN_TRANSFER_TOTAL_QUERY,
  TokenCreation,
  TokenMintBurn,
  TokenPrice,
  TokenTransfer,
  TokenTransferTotal,
} from '../../schemas/api/token-history.ts'
import { chainRow } from '../../schemas/chains.ts'
import type { KeysetRow } from '../queries/keyset-list.ts'
import {
  type CreationRow,
  creationQuery,
  type PriceRow,
  priceList,
  priceQuery,
  type SupplyChangeRow,
  supplyChangeList,
  type TransferRow,
  tokenTransfersList,
  tokenTransferTotalQuery,
} from '../queries/token-history.ts'
import { numberTextOrNull, requiredText, unitsOrNull } from './body-values.ts'
import { type ChainRoute, definePageRoute, defineReadRoute } from './chain-route.ts'

const priceBody = (address: string, row: PriceRow): TokenPrice => {
  const native = numberTextOrNull(row.price_native)
  return {
    address,
    priceInUsd: requiredText(numberTextOrNull(row.price_usd)),
    priceInSol: native,
    priceInNative: native,
    timestamp: Number(row.time_ms),
  }
}

const tokenPrice = defineReadRoute({
  path: '/token/:chain/:tokenAddress/price',
  summary: 'Price of a token now, or at a moment',
  tag: 'token',
  params: TOKEN_PARAM,
  query: PRICE_QUERY,
  response: TokenPrice,
  absent: 'MARKET_INFO_NOT_FOUND',
  answer: async ({ chain, params, query, nowMs, rows }) => {
    const timeMs = query.timestamp === undefined ? nowMs : normalizeQueryTime(query.timestamp)
    const [row] = await rows<PriceRow>(priceQuery(chain.id, params.tokenAddress, timeMs))
    if (row === undefined) throw new Fault('MARKET_INFO_NOT_FOUND')
    return priceBody(params.tokenAddress, row)
  },
})

const tokenPrices = definePageRoute({
  path: '/token/:chain/:tokenAddress/prices',
  summary: 'Last price of every minute with trades, newest first',
  tag: 'token',
  params: TOKEN_PARAM,
  query: {},
  item: TokenPrice,
  list: ({ chain, params }) => priceList(chain.id, params.tokenAddress),
  bodies: (rows: readonly (PriceRow & KeysetRow)[], { params }) =>
    rows.map((row) => priceBody(params.tokenAddress, row)),
})

const tokenCreation = defineReadRoute({
  path: '/token/:chain/:tokenAddress/creation',
  summary: 'Block and transaction that made a token',
  tag: 'token',
  params: TOKEN_PARAM,
  query: {},
  response: TokenCreation,
  absent: 'NOT_FOUND',
  answer: async ({ chain, params, rows }) => {
    const [row] = await rows<CreationRow>(creationQuery(chain.id, params.tokenAddress))
    if (row === undefined)
      throw new Fault('NOT_FOUND', 'The creation of this token is not recorded')
    return creationBody(params.tokenAddress, row)
  },
})

const creationBody = (tokenAddress: string, row: CreationRow): TokenCreation => ({
  tokenAddress,
  blockHeight: Number(row.height ?? row.slot),
  blockSlot: Number(row.slot),
  blockHash: row.hash,
  blockTimestamp: row.time_ms === '0' ? null : Number(row.time_ms),
  transactionSignature: row.tx_hash,
  type: 'create',
})

const mintAndBurnRoute = (segment: 'mintAndBurn' | 'mintandburn'): ChainRoute =>
  definePageRoute({
    path: `/token/:chain/:tokenAddress/${segment}`,
    summary: 'Minted and burnt amounts, newest first',
    tag: 'token',
    params: TOKEN_PARAM,
    query: MINT_BURN_QUERY,
    item: TokenMintBurn,
    list: ({ chain, params, query }) =>
      supplyChangeList(chain.id, params.tokenAddress, query.type ?? 'all'),
    bodies: (rows: readonly SupplyChangeRow[], { params }) =>
      rows.map((row) => supplyBody(params.tokenAddress, row)),
  })

const supplyBody = (tokenAddress: string, row: SupplyChangeRow): TokenMintBurn => ({
  tokenAddress,
  mintBurnType: row.kind === 'mint' ? 'mint' : 'burn',
  amount: requiredText(unitsOrNull(row.amount_raw, row.decimals)),
  blockHeight: Number(row.height),
  blockTimestamp: Number(row.time_ms),
  transactionSignature: row.tx_hash,
})

const tokenTransfers = definePageRoute({
  path: '/token/:chain/:tokenAddress/transfers',
  summary: 'Transfers of a token, newest first',
  tag: 'token',
  params: TOKEN_PARAM,
  query: TOKEN_TRANSFER_QUERY,
  item: TokenTransfer,
  list: ({ chain, params, query }) =>
    tokenTransfersList(chain.id, params.tokenAddress, {
      from: query.fromTimestamp,
      to: query.toTimestamp,
    }),
  bodies: (rows: readonly TransferRow[], { chain }) => {
    const noOwner = chainRow(chain.id)?.nativeAddress
    return rows.map((row) => transferBody(row, row.sender === '' || row.sender === noOwner))
  },
})

const transferBody = (row: TransferRow, isMinted: boolean): TokenTransfer => ({
  id: `${row.tx_hash}:${row.event_index}`,
  tokenAddress: row.token,
  fromAddress: row.sender,
  toAddress: row.receiver,
  amount: requiredText(unitsOrNull(row.amount_raw, row.decimals)),
  amountInUsd: row.amount_usd,
  blockTimestamp: Number(row.time_ms),
  transactionSignature: row.tx_hash,
  type: isMinted ? 'in' : 'out',
  status: row.success === 1 ? 'succeeded' : 'failed',
})

const tokenTransferTotal = defineReadRoute({
  path: '/token/:chain/:tokenAddress/transfer-total',
  summary: 'How often a token was transferred',
  tag: 'token',
  params: TOKEN_PARAM,
  query: TOKEN_TRANSFER_TOTAL_QUERY,
  response: TokenTransferTotal,
  absent: 'NOT_FOUND',
  answer: async ({ chain, params, query, rows }) => {
    const bounds = { before: query.beforeTimestamp, after: query.afterTimestamp }
    const [row] = await rows<{ readonly total: string }>(
      tokenTransferTotalQuery(chain.id, params.tokenAddress, bounds),
    )
    return { total: Number(row?.total ?? 0) }
  },
})

/** What happened to one token: its prices, creation, supply and transfers. */
export const tokenHistoryRoutes: readonly ChainRoute[] = [
  tokenPrice,
  tokenPrices,
  tokenCreation,
  mintAndBurnRoute('mintAndBurn'),
  mintAndBurnRoute('mintandburn'),
  tokenTransfers,
  tokenTransferTotal,
]
