import type { Log } from '../../../schemas/events.ts'
import type {
  PredictionManagement,
  PredictionSettlement,
} from '../../../schemas/prediction-events.ts'
import { PREDICTION_COLLATERALS } from '../../../schemas/predictions.ts'
import { textIn, wordsIn } from '../abi/dynamic.ts'
import { addressIn, topicAddress, topicNumber, wordAt, wordCount } from '../abi/words.ts'
import {
  type DecodedEvent,
  type EvmEvent,
  type EvmFamily,
  type InvalidEvent,
  impossible,
} from './types.ts'

const [{ address: FIRST_COLLATERAL }, { address: COLLATERAL }] = PREDICTION_COLLATERALS
/**
 * Contracts that split, merge, redeem and convert for whoever calls them, and one that only redeems: they take the outcome tokens
 * or hand them on, and events name them as who settled. Sources: Polymarket/ctf-exchange-v2 README, CtfCollateralAdapter.sol,
 * NegRiskCtfCollateralAdapter.sol, AutoRedeemer.sol; l2beat/l2beat discovery of Polymarket.
 */
export const GO_BETWEENS: ReadonlySet<string> = new Set([
  '0xada100874d00e3331d00f2007a9c336a65009718',
  '0xada200001000ef00d07553cee7006808f895c6f1',
  '0xada100db00ca00073811820692005400218fce1f',
  '0xada2005600dec949baf300f4c6120000bdb6eaab',
  '0xa1200000d0002264c9a1698e001292d00e1b00af',
])
const MAX_DESCRIPTION = 1_024
/** Most outcomes of a condition. Source: gnosis/conditional-tokens-contracts ConditionalTokens.sol. */
const MAX_OUTCOMES = 256n

const invalidEvent = (reason: InvalidEvent['reason']): InvalidEvent => ({ kind: 'invalid', reason })

const hash = (topic: string | undefined): string => topic ?? ''

interface Fill {
  readonly side: 'BUY' | 'SELL'
  readonly tokenId: bigint
  readonly collateral: string
  readonly collateralRaw: bigint
  readonly sharesRaw: bigint
  readonly feeRaw: bigint
  readonly feeIn: 'collateral' | 'shares'
}

/** The refusal, or undefined, where one of the amounts is nothing or beyond any token: a share of nothing has no price. */
const lacking = (...amountsRaw: readonly bigint[]): InvalidEvent | undefined =>
  amountsRaw.includes(0n) ? invalidEvent('zero-amount') : impossible(amountsRaw)

const fill = ({ address: exchange, topics }: Log, filled: Fill): DecodedEvent =>
  lacking(filled.collateralRaw, filled.sharesRaw) ?? {
    kind: 'prediction-trade',
    exchange,
    orderHash: hash(topics[1]),
    maker: topicAddress(topics[2]),
    taker: topicAddress(topics[3]),
    ...filled,
  }

/** Who gives asset 0 pays collateral. The fee is taken from what the order receives. Source: Polymarket/ctf-exchange Trading.sol. */
const firstFill = (log: Log): DecodedEvent => {
  const [gives, takes] = [wordAt(log.data, 0), wordAt(log.data, 1)]
  if ((gives === 0n) === (takes === 0n)) return invalidEvent('unknown-side')
  const buys = gives === 0n
  return fill(log, {
    side: buys ? 'BUY' : 'SELL',
    tokenId: buys ? takes : gives,
    collateral: FIRST_COLLATERAL,
    collateralRaw: wordAt(log.data, buys ? 2 : 3),
    sharesRaw: wordAt(log.data, buys ? 3 : 2),
    feeRaw: wordAt(log.data, 4),
    feeIn: buys ? 'shares' : 'collateral',
  })
}

/**
 * The fee is always collateral: a purchase pays it beside what it gives, a sale gets so much less. Source: Polymarket/ctf-exchange-v2
 * Trading.sol.
 */
const secondFill = (log: Log): DecodedEvent => {
  const side = wordAt(log.data, 0)
  if (side > 1n) return invalidEvent('unknown-side')
  const buys = side === 0n
  return fill(log, {
    side: buys ? 'BUY' : 'SELL',
    tokenId: wordAt(log.data, 1),
    collateral: COLLATERAL,
    collateralRaw: wordAt(log.data, buys ? 2 : 3),
    sharesRaw: wordAt(log.data, buys ? 3 : 2),
    feeRaw: wordAt(log.data, 4),
    feeIn: 'collateral',
  })
}

/** A market maker is a contract of its own and the other side of whoever deals with it. */
const deal =
  (side: 'BUY' | 'SELL') =>
  ({ address: maker, topics, data }: Log): DecodedEvent => {
    const [collateralRaw, feeRaw, sharesRaw] = [wordAt(data, 0), wordAt(data, 1), wordAt(data, 2)]
    return (
      lacking(collateralRaw, sharesRaw) ?? {
        kind: 'market-maker-trade',
        maker,
        taker: topicAddress(topics[1]),
        side,
        sharesRaw,
        collateral: FIRST_COLLATERAL,
        collateralRaw,
        feeRaw,
      }
    )
  }

type Managed = Partial<Omit<PredictionManagement, 'kind' | 'type'>>

const managed = (type: PredictionManagement['type'], reported: Managed): DecodedEvent => ({
  kind: 'prediction-management',
  conditionId: null,
  questionId: null,
  marketId: null,
  oracle: null,
  outcomes: null,
  payouts: [],
  tokenIds: [],
  description: null,
  ...reported,
  type,
})

const condition =
  (type: 'ConditionPreparation' | 'ConditionResolution') =>
  ({ topics, data }: Log): DecodedEvent => {
    const outcomes = wordAt(data, 0)
    if (outcomes > MAX_OUTCOMES) return invalidEvent('impossible-amount')
    const payouts = type === 'ConditionResolution' ? wordsIn(data, 1) : []
    if (payouts === undefined) return invalidEvent('bad-array')
    return managed(type, {
      conditionId: hash(topics[1]),
      oracle: topicAddress(topics[2]),
      questionId: hash(topics[3]),
      outcomes: Number(outcomes),
      payouts,
    })
  }

const prepared =
  (type: 'MarketPrepared' | 'QuestionPrepared') =>
  ({ topics, data }: Log): DecodedEvent => {
    const description = textIn(data, 1, MAX_DESCRIPTION)
    if (description === undefined) return invalidEvent('bad-array')
    const who =
      type === 'MarketPrepared'
        ? { oracle: topicAddress(topics[2]) }
        : { questionId: hash(topics[2]) }
    return managed(type, { marketId: hash(topics[1]), description, ...who })
  }

type SettlementFields = Pick<PredictionSettlement, 'type' | 'holder' | 'amountRaw'> &
  Partial<PredictionSettlement>

/** What has no winner pays nothing and is settled all the same. */
const predictionSettlement = (reported: SettlementFields): DecodedEvent =>
  (reported.type === 'Redemption'
    ? impossible([reported.amountRaw])
    : lacking(reported.amountRaw)) ?? {
    conditionId: null,
    marketId: null,
    collateral: null,
    indexSets: [],
    moved: [],
    ...reported,
    kind: 'prediction-settlement',
  }

const position =
  (type: 'Split' | 'Merge') =>
  ({ topics, data }: Log): DecodedEvent => {
    const indexSets = wordsIn(data, 1)
    if (indexSets === undefined) return invalidEvent('bad-array')
    return predictionSettlement({
      type,
      holder: topicAddress(topics[1]),
      conditionId: hash(topics[3]),
      collateral: addressIn(data, 0),
      indexSets,
      amountRaw: wordAt(data, 2),
    })
  }

const redemption = ({ topics, data }: Log): DecodedEvent => {
  const indexSets = wordsIn(data, 1)
  if (indexSets === undefined) return invalidEvent('bad-array')
  return predictionSettlement({
    type: 'Redemption',
    holder: topicAddress(topics[1]),
    conditionId: `0x${data.slice(2, 66)}`,
    collateral: topicAddress(topics[2]),
    indexSets,
    amountRaw: wordAt(data, 2),
  })
}

const adapted =
  (type: 'Split' | 'Merge') =>
  ({ topics, data }: Log): DecodedEvent =>
    predictionSettlement({
      type,
      holder: topicAddress(topics[1]),
      conditionId: hash(topics[2]),
      amountRaw: wordAt(data, 0),
    })

const batch = ({ topics, data }: Log): DecodedEvent => {
  // As long as its data: balances are only right with every move.
  const most = BigInt(wordCount(data))
  const ids = wordsIn(data, 0, most)
  const amounts = wordsIn(data, 1, most)
  if (ids === undefined || ids.length !== amounts?.length) return invalidEvent('bad-array')
  return {
    kind: 'outcomes',
    from: topicAddress(topics[2]),
    to: topicAddress(topics[3]),
    moved: ids.map((tokenId, index) => ({ tokenId, amountRaw: amounts[index] ?? 0n })),
  }
}

const event = (
  signature: string,
  counts: Pick<EvmEvent, 'topics' | 'words'>,
  read: EvmEvent['read'],
): EvmEvent => ({ signature, by: 'singleton', ...counts, read })

/** The exchanges: one log for each order that was filled. */
const EXCHANGE: EvmFamily['events'] = {
  '0xd0a08e8c493f9c94f29311604c9de1b4e8c8d4c06bd0c789af57f2d65bfec0f6': event(
    'OrderFilled(bytes32 indexed orderHash, address indexed maker, address indexed taker, uint256 makerAssetId, uint256 takerAssetId, uint256 makerAmountFilled, uint256 takerAmountFilled, uint256 fee)',
    { topics: 4, words: 5 },
    firstFill,
  ),
  '0xd543adfd945773f1a62f74f0ee55a5e3b9b1a28262980ba90b1a89f2ea84d8ee': event(
    'OrderFilled(bytes32 indexed orderHash, address indexed maker, address indexed taker, uint8 side, uint256 tokenId, uint256 makerAmountFilled, uint256 takerAmountFilled, uint256 fee, bytes32 builder, bytes32 metadata)',
    { topics: 4, words: 7 },
    secondFill,
  ),
  '0xbc9a2432e8aeb48327246cddd6e872ef452812b4243c04e6bfb786a2cd8faf0d': event(
    'TokenRegistered(uint256 indexed token0, uint256 indexed token1, bytes32 indexed conditionId)',
    { topics: 4, words: 0 },
    ({ topics }) =>
      managed('TokenRegistered', {
        conditionId: hash(topics[3]),
        outcomes: 2,
        tokenIds: [topicNumber(topics[1]), topicNumber(topics[2])],
      }),
  ),
}

/**
 * The first exchanges charge what an order signed; the modules that match through them give back what was not meant to be charged:
 * mostly all to a maker, and a part to a taker. Source: Polymarket/exchange-fee-module FeeModule.sol, IFeeModule.sol.
 */
const FEE_MODULES: EvmFamily['events'] = {
  '0xb608d2bf25d8b4b744ba23ce2ea9802ea955e216c064a62f42152fbf98958d24': event(
    'FeeRefunded(bytes32 indexed orderHash, address indexed to, uint256 indexed feeCharged, uint256 id, uint256 refund)',
    { topics: 4, words: 2 },
    ({ topics, data }) =>
      lacking(wordAt(data, 1)) ?? {
        kind: 'fee-refund',
        orderHash: hash(topics[1]),
        tokenId: wordAt(data, 0),
        amountRaw: wordAt(data, 1),
      },
  ),
}

const SETS = 'uint256[] partition, uint256 amount'

/** The contract that holds all outcome tokens. Source: gnosis/conditional-tokens-contracts ConditionalTokens.sol. */
const CONDITIONS: EvmFamily['events'] = {
  '0xab3760c3bd2bb38b5bcf54dc79802ed67338b4cf29f3054ded67ed24661e4177': event(
    'ConditionPreparation(bytes32 indexed conditionId, address indexed oracle, bytes32 indexed questionId, uint256 outcomeSlotCount)',
    { topics: 4, words: 1 },
    condition('ConditionPreparation'),
  ),
  '0xb44d84d3289691f71497564b85d4233648d9dbae8cbdbb4329f301c3a0185894': event(
    'ConditionResolution(bytes32 indexed conditionId, address indexed oracle, bytes32 indexed questionId, uint256 outcomeSlotCount, uint256[] payoutNumerators)',
    { topics: 4, words: 2 },
    condition('ConditionResolution'),
  ),
  '0x2e6bb91f8cbcda0c93623c54d0403a43514fabc40084ec96b6d5379a74786298': event(
    `PositionSplit(address indexed stakeholder, bytes32 indexed parentCollectionId, bytes32 indexed conditionId, address collateralToken, ${SETS})`,
    { topics: 4, words: 3 },
    position('Split'),
  ),
  '0x6f13ca62553fcc2bcd2372180a43949c1e4cebba603901ede2f4e14f36b282ca': event(
    `PositionsMerge(address indexed stakeholder, bytes32 indexed parentCollectionId, bytes32 indexed conditionId, address collateralToken, ${SETS})`,
    { topics: 4, words: 3 },
    position('Merge'),
  ),
  '0x2682012a4a4f1973119f1c9b90745d1bd91fa2bab387344f044cb3586864d18d': event(
    'PayoutRedemption(address indexed redeemer, address indexed collateralToken, bytes32 indexed parentCollectionId, bytes32 conditionId, uint256[] indexSets, uint256 payout)',
    { topics: 4, words: 3 },
    redemption,
  ),
  '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62': {
    signature:
      'TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)',
    by: 'listed',
    topics: 4,
    words: 2,
    read: ({ topics, data }) => ({
      kind: 'outcomes',
      from: topicAddress(topics[2]),
      to: topicAddress(topics[3]),
      moved: [{ tokenId: wordAt(data, 0), amountRaw: wordAt(data, 1) }],
    }),
  },
  '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb': {
    signature:
      'TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)',
    by: 'listed',
    topics: 4,
    words: 2,
    read: batch,
  },
}

/** Questions of which one comes true, whose outcomes turn into each other. Source: Polymarket/neg-risk-ctf-adapter. */
const ADAPTER: EvmFamily['events'] = {
  '0xbbed930dbfb7907ae2d60ddf78345610214f26419a0128df39b6cc3d9e5df9b0': event(
    'PositionSplit(address indexed stakeholder, bytes32 indexed conditionId, uint256 amount)',
    { topics: 3, words: 1 },
    adapted('Split'),
  ),
  '0xba33ac50d8894676597e6e35dc09cff59854708b642cd069d21eb9c7ca072a04': event(
    'PositionsMerge(address indexed stakeholder, bytes32 indexed conditionId, uint256 amount)',
    { topics: 3, words: 1 },
    adapted('Merge'),
  ),
  '0xb03d19dddbc72a87e735ff0ea3b57bef133ebe44e1894284916a84044deb367e': event(
    'PositionsConverted(address indexed stakeholder, bytes32 indexed marketId, uint256 indexed indexSet, uint256 amount)',
    { topics: 4, words: 1 },
    ({ topics, data }) =>
      predictionSettlement({
        type: 'Conversion',
        holder: topicAddress(topics[1]),
        marketId: hash(topics[2]),
        indexSets: [topicNumber(topics[3])],
        amountRaw: wordAt(data, 0),
      }),
  ),
  '0x9140a6a270ef945260c03894b3c6b3b2695e9d5101feef0ff24fec960cfd3224': event(
    'PayoutRedemption(address indexed redeemer, bytes32 indexed conditionId, uint256[] amounts, uint256 payout)',
    { topics: 3, words: 2 },
    ({ topics, data }) =>
      predictionSettlement({
        type: 'Redemption',
        holder: topicAddress(topics[1]),
        conditionId: hash(topics[2]),
        amountRaw: wordAt(data, 1),
      }),
  ),
  '0xf059ab16d1ca60e123eab60e3c02b68faf060347c701a5d14885a8e1def7b3a8': event(
    'MarketPrepared(bytes32 indexed marketId, address indexed oracle, uint256 feeBips, bytes data)',
    { topics: 3, words: 2 },
    prepared('MarketPrepared'),
  ),
  '0xaac410f87d423a922a7b226ac68f0c2eaf5bf6d15e644ac0758c7f96e2c253f7': event(
    'QuestionPrepared(bytes32 indexed marketId, bytes32 indexed questionId, uint256 index, bytes data)',
    { topics: 3, words: 2 },
    prepared('QuestionPrepared'),
  ),
  '0x9e9fa7fd355160bd4cd3f22d4333519354beff1f5689bde87f2c5e63d8d484b2': event(
    'OutcomeReported(bytes32 indexed marketId, bytes32 indexed questionId, bool outcome)',
    { topics: 3, words: 1 },
    ({ topics, data }) =>
      managed('OutcomeReported', {
        marketId: hash(topics[1]),
        questionId: hash(topics[2]),
        outcomes: 2,
        payouts: wordAt(data, 0) === 0n ? [0n, 1n] : [1n, 0n],
      }),
  ),
}

/** Market makers of the first markets, each a contract. Source: gnosis/conditional-tokens-market-makers. */
const MARKET_MAKERS: EvmFamily['events'] = {
  '0x4f62630f51608fc8a7603a9391a5101e58bd7c276139366fc107dc3b67c3dcf8': {
    signature:
      'FPMMBuy(address indexed buyer, uint256 indexed outcomeIndex, uint256 investmentAmount, uint256 feeAmount, uint256 outcomeTokensBought)',
    by: 'other',
    topics: 3,
    words: 3,
    read: deal('SELL'),
  },
  '0xadcf2a240ed9300d681d9a3f5382b6c1beed1b7e46643e0c7b42cbe6e2d766b4': {
    signature:
      'FPMMSell(address indexed seller, uint256 indexed outcomeIndex, uint256 returnAmount, uint256 feeAmount, uint256 outcomeTokensSold)',
    by: 'other',
    topics: 3,
    words: 3,
    read: deal('BUY'),
  },
}

/** Prediction markets: exchanges, outcome tokens, groups of questions, market makers. */
export const polymarket: EvmFamily = {
  family: 'polymarket',
  events: { ...EXCHANGE, ...FEE_MODULES, ...CONDITIONS, ...ADAPTER, ...MARKET_MAKERS },
}
