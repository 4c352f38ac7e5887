import { CHAINS } from '../../../schemas/chains.ts'
import { type DocumentedContent, inBlock } from './content.ts'

const USDC = CHAINS.polygon.quotes[0].address
const day = (number: number): string => `2026-01-0${number}T00:00:00Z`

const market = (place: object, condition: string, question: string): object => ({
  ...place,
  marketplace: 'Polymarket',
  protocol_family: 'polymarket',
  condition_id: condition,
  question_id: question,
  collateral_token: USDC,
})
const trade = (number: number, other: object): object => ({
  ...market(inBlock(number, day(number), `0xp${number}`), `c${number}`, 'q'),
  buyer: 'w',
  seller: 'x',
  outcome: '1',
  outcome_token: '111',
  fee_in: 'collateral',
  ...other,
})
const ofGroup = { market_id: 'm', question_id: 'q2' }

const tradeRow = (number: number, amount: number, price: number, fee: number) => ({
  Block: { Time: day(number) },
  Transaction: { Hash: `0xp${number}` },
  Trade: { Buyer: 'w', Seller: 'x', Amount: amount, Price: price, Fee: fee },
  Prediction: {
    Condition: { Id: `c${number}`, Outcomes: [] },
    Question: { Id: 'q' },
    Outcome: '1',
    OutcomeToken: { SmartContract: null },
    Marketplace: { ProtocolName: 'Polymarket' },
    CollateralToken: { SmartContract: USDC },
  },
  count: 1,
  sum: amount,
})
const outcome = (AssetId: string, price: number, usd: number | null, yes: number | null) => ({
  Trade: {
    OutcomeTrade: { Price: price, PriceInUSD: usd },
    Prediction: { OutcomeToken: { AssetId }, Outcome: { Id: AssetId, Label: null } },
  },
  yes,
})

/** Prediction markets of Polygon. */
export const PREDICTIONS: DocumentedContent = {
  rows: [
    ['polygon_tokens', [{ token_address: USDC, symbol: 'USDC', decimals: 6, _ver: 1 }]],
    [
      'polygon_prediction_trades',
      [
        // Too old for Q47; left out of Q40 by condition, by marketplace.
        { ...trade(1, { question_id: 'q0' }), block_time: '2025-12-31T23:59:59Z' },
        trade(2, { condition_id: 'c' }),
        trade(3, { marketplace: 'Other' }),
        trade(4, { amount: '2000000', price: 0.5, fee: '20000' }),
        trade(5, {
          amount: '4000000',
          price: 0.25,
          fee: '40000',
          fee_in: 'shares',
          market_id: 'm',
          is_outcome_buy: 1,
          collateral_amount: '1000000',
        }),
        trade(6, {
          ...ofGroup,
          outcome_token: '222',
          price: 0.125,
          is_outcome_buy: 1,
          collateral_token: '0xz',
          collateral_amount: '500000',
        }),
        trade(7, { ...ofGroup, price: 0.75, collateral_amount: '3000000' }),
        trade(8, { ...ofGroup, price: 0.99, is_outcome_buy: 1, tx_status: 'FAILED' }),
      ],
    ],
    [
      'polygon_prediction_managements',
      [
        {
          ...market(inBlock(1, day(1), '0xm1'), 'c', 'q'),
          event_type: 'ConditionResolution',
          description: 'Will it rain?',
        },
        { ...market(inBlock(2, day(2), '0xm2'), 'c', 'q'), event_type: 'ConditionPreparation' },
      ],
    ],
    [
      'polygon_prediction_settlements',
      [
        {
          ...market(inBlock(1, day(1), '0xs1'), 'c', 'q'),
          event_type: 'Split',
          holder: 'w',
          outcome_token_ids: ['111', '222'],
          amounts: ['2000000', '2500000'],
        },
        { ...market(inBlock(2, day(1), '0xs2'), 'c9', 'q'), event_type: 'X', holder: 'w' },
        { ...market(inBlock(3, day(3), '0xs3'), 'c', 'q'), event_type: 'Split', holder: 'x' },
      ],
    ],
  ],
  answers: {
    // A fee in shares is worth the price of one: 0.04 of them are 0.01.
    Q40: { EVM: { PredictionTrades: [tradeRow(5, 4, 0.25, 0.01), tradeRow(4, 2, 0.5, 0.02)] } },
    // A failed trade does not count, and a collateral other than a stablecoin has no value.
    Q41: {
      EVM: {
        PredictionTrades: [outcome('111', 0.75, 0.75, 1), outcome('222', 0.125, null, null)],
      },
    },
    Q42: {
      EVM: {
        PredictionManagements: [
          {
            Block: { Time: day(1) },
            Transaction: { Hash: '0xm1' },
            Management: {
              EventType: 'ConditionResolution',
              Description: 'Will it rain?',
              Group: null,
              Prediction: {
                Condition: { Id: 'c', Outcomes: [] },
                Question: { Id: 'q' },
                Marketplace: { ProtocolName: 'Polymarket' },
              },
            },
          },
        ],
        PredictionSettlements: [
          {
            Block: { Time: day(1) },
            Transaction: { Hash: '0xs1' },
            Settlement: {
              EventType: 'Split',
              Holder: 'w',
              OutcomeTokenIds: ['111', '222'],
              Amounts: [2, 2.5],
              Prediction: {
                Condition: { Id: 'c' },
                CollateralToken: { SmartContract: USDC, Symbol: 'USDC' },
                Marketplace: { ProtocolName: 'Polymarket' },
              },
            },
          },
        ],
      },
    },
  },
}
