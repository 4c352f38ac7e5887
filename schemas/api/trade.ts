import { type Static, Type } from 'typebox'
import { DIRECTION, decimalOrNull, namedObject, nullable, queryTime } from './common.ts'

const integer = (about: string) => nullable(Type.Integer({ description: about }))
const text = (about: string) => nullable(Type.String({ description: about }))

/** A number that stock clients require: "0" where it is not known. */
const required = (about: string) => Type.String({ description: `${about}; "0" when not known` })

const leg = <const Prefix extends 'token' | 'sideToken'>(prefix: Prefix) =>
  ({
    [`${prefix}Address`]: Type.String(),
    [`${prefix}Name`]: Type.String({ description: 'Empty when not known' }),
    [`${prefix}Symbol`]: Type.String({ description: 'Empty when not known' }),
    [`${prefix}ImageUrl`]: text('From the metadata document'),
    [`${prefix}Amount`]: required('Token units'),
    [`${prefix}PriceInUsd`]: required('USD for one token'),
    [`${prefix}PriceInNative`]: required('Native tokens for one token'),
    [`${prefix}AmountInUsd`]: required('USD'),
    [`${prefix}AmountInNative`]: required('Native tokens'),
  }) as Record<
    | `${Prefix}${'Address' | 'Name' | 'Symbol' | 'Amount' | 'PriceInUsd' | 'PriceInNative'}`
    | `${Prefix}${'AmountInUsd' | 'AmountInNative'}`,
    ReturnType<typeof required>
  > &
    Record<`${Prefix}ImageUrl`, ReturnType<typeof text>>

/** Trades of a list by side. */
const TRADE_TYPES = ['BUY', 'SELL'] as const

/** What a wallet did on a pool. */
export const ACTIVITY_TYPES = [
  ...TRADE_TYPES,
  'LIQUIDITY_INITIALIZE',
  'LIQUIDITY_ADD',
  'LIQUIDITY_REMOVE',
  'RED_PACKET_CREATE',
  'RED_PACKET_CLAIM',
  'RED_PACKET_COMPLETE',
  'RED_PACKET_REFUND',
] as const

/** A trade, or what else a wallet did on a pool; amounts are positive token units. */
export const TradeDetail = namedObject('TradeDetail', {
  chain: Type.String(),
  blockHeight: Type.Integer(),
  blockTimestamp: Type.Integer({ description: 'Epoch ms' }),
  transactionSignature: Type.String(),
  accountOwnerAddress: Type.String({ description: 'The trader' }),
  type: Type.Enum(ACTIVITY_TYPES, { description: 'Of `tokenAddress`, for the trader' }),
  status: Type.Enum(['UNKNOWN', 'SUCCEEDED', 'FAILED']),
  poolAddress: Type.String(),
  dexProgramAddress: text('Program or factory'),
  dexProtocolFamily: text('Protocol family'),
  dexImage: text('Not known to this installation'),
  ...leg('token'),
  ...leg('sideToken'),
  isSuspect: nullable(
    Type.Boolean({
      description:
        'The price failed a sanity check: it sets no price and no candle. Null for what is not a trade',
    }),
  ),
  gasFee: integer('Smallest unit of the native token'),
  gasFeeInNative: decimalOrNull('Fee of the whole transaction'),
  gasFeeInUsd: decimalOrNull('Fee of the whole transaction'),
})
export type TradeDetail = Static<typeof TradeDetail>

const heightOf = (about: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: about }))
const addressOf = (about: string) =>
  Type.Optional(Type.String({ maxLength: 256, description: about }))

/** Parameters of lists of trades; bounds are exclusive. */
export const TRADE_QUERY = {
  tokenAddress: addressOf('Trades of this token'),
  walletAddress: addressOf('Trades of this wallet'),
  poolAddress: addressOf('Trades of this pool'),
  beforeTimestamp: queryTime('Only earlier trades'),
  afterTimestamp: queryTime('Only later trades'),
  beforeBlockHeight: heightOf('Only trades of lower blocks'),
  afterBlockHeight: heightOf('Only trades of higher blocks'),
  transactionsSignature: Type.Optional(
    Type.String({ maxLength: 128, description: 'Trades of this transaction' }),
  ),
  type: Type.Optional(Type.Enum(TRADE_TYPES)),
  isSuspect: Type.Optional(
    Type.Boolean({ description: 'Only trades whose price failed a sanity check, or only others' }),
  ),
}
export type TradeQuery = Static<ReturnType<typeof tradeQuery>>
const tradeQuery = () => Type.Object(TRADE_QUERY)

/** Windows of top traders. */
const TIME_FRAMES = ['30m', '1h', '2h', '4h', '6h', '8h', '12h', '24h'] as const

/** Orders of top traders. */
const TOP_TRADER_SORTS = ['tradeAmount', 'tradeCount', 'volume'] as const

/** Parameters of the top traders of a token. */
export const TOP_TRADER_QUERY = {
  tokenAddress: Type.String({ maxLength: 256 }),
  timeFrame: Type.Optional(Type.Enum(TIME_FRAMES, { default: '24h' })),
  sortType: Type.Optional(DIRECTION),
  sortBy: Type.Optional(Type.Enum(TOP_TRADER_SORTS, { default: 'tradeAmount' })),
}

/** A wallet by what it traded of one token in a window. */
export const TopTrader = namedObject('TopTrader', {
  walletAddress: Type.String(),
  tokenAddress: Type.String(),
  buyCount: Type.Integer(),
  sellCount: Type.Integer(),
  tradeCount: Type.Integer(),
  buyAmount: Type.String({ description: 'Token units' }),
  sellAmount: Type.String({ description: 'Token units' }),
  tradeAmount: Type.String({ description: 'Bought and sold, token units' }),
  buyAmountInUsd: Type.String({ description: 'USD, of the trades whose value is known' }),
  sellAmountInUsd: Type.String({ description: 'USD, of the trades whose value is known' }),
  buyAmountInNative: Type.String({ description: 'Native tokens, of the same trades' }),
  sellAmountInNative: Type.String({ description: 'Native tokens, of the same trades' }),
})
export type TopTrader = Static<typeof TopTrader>

/** Parameters of the wallets that made or lost most. */
export const GAINER_QUERY = {
  resolution: Type.Optional(Type.Enum(['1d', '7d', '30d'], { default: '1d' })),
  sortType: Type.Optional(DIRECTION),
}

/** A wallet by what its sales of a window realized. */
export const TraderGainersLosersItem = namedObject('TraderGainersLosersItem', {
  address: Type.String(),
  chain: Type.String(),
  pnl: Type.String({ description: 'USD' }),
  volume: Type.String({ description: 'USD' }),
  tradeCount: Type.String(),
})
export type TraderGainersLosersItem = Static<typeof TraderGainersLosersItem>
