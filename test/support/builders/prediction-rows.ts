import { PREDICTION_COLLATERALS } from '../../../schemas/predictions.ts'
import { addressFromNumber, createSeededRandom } from './market-trade.ts'

const hash = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`

/** Two conditions of a group of questions, and one alone. */
export const CONDITIONS = [hash(0xc1), hash(0xc2), hash(0xc3)] as const
/** A group of questions, and one without any. */
export const MARKETS = [hash(0xe1), hash(0xe2)] as const
/** Two outcome tokens of each condition, in their order. */
export const TOKENS = ['101', '102', '201', '202', '301', '302'] as const
export const WALLETS = [0xa1, 0xa2, 0xa3, 0xa4].map(addressFromNumber) as [
  ...[string, string, string, string],
]

/** Time of the newest row. */
export const PREDICTION_HEAD_MS = Date.UTC(2026, 10, 20, 12)
const STEP_MS = 3_600_000
const ROWS = 160

const place = (n: number) => ({
  block_time: new Date(PREDICTION_HEAD_MS - (ROWS - 1 - n) * STEP_MS).toISOString(),
  block_slot: 1_000 + Math.floor(n / 3),
  block_height: 900 + Math.floor(n / 3),
  block_hash: `0xb${Math.floor(n / 3)}`,
  tx_hash: hash(0x10_000 + n),
  tx_index: n % 3,
  event_index: n,
  log_index: 5 + n,
  tx_status: 'SUCCESS',
  marketplace: 'Polymarket',
  protocol_family: 'polymarket',
  _ver: 1,
})

const tokensOf = (condition: number): [string, string] =>
  TOKENS.slice(condition * 2, condition * 2 + 2) as [string, string]

/** Rows of prediction markets over a week, made from one seed: trades, settlements of every kind, and what sets markets up. */
export const predictionRows = () => {
  const random = createSeededRandom(11)
  const pick = <Item>(items: readonly Item[]): Item =>
    items[Math.floor(random() * items.length)] as Item
  const trade = (n: number) => {
    const condition = Math.floor(random() * CONDITIONS.length)
    const cents = 1 + Math.floor(random() * 98)
    const shares = 1_000_000 * (1 + Math.floor(random() * 50)) + Math.floor(random() * 1_000) * 100
    return {
      ...place(n),
      condition_id: CONDITIONS[condition] as string,
      market_id: '',
      collateral_token: PREDICTION_COLLATERALS[0].address,
      buyer: pick(WALLETS.slice(0, 3)),
      seller: pick(WALLETS.slice(1)),
      is_outcome_buy: random() < 0.5 ? 1 : 0,
      amount: String(shares),
      collateral_amount: String((shares * cents) / 100),
      price: cents / 100,
      fee: String(Math.floor(random() * 10_000) + 1),
      fee_in: pick(['collateral', 'shares']),
      outcome: String(n % 2),
      outcome_token: tokensOf(condition)[n % 2] as string,
      exchange: '0xe4',
    }
  }
  const settlement = (n: number) => {
    const type = pick(['Split', 'Merge', 'Redemption', 'Conversion'] as const)
    const condition = Math.floor(random() * CONDITIONS.length)
    const amount = String(1_000_000 * (1 + Math.floor(random() * 30)) + 1)
    const tokens = type === 'Redemption' ? [pick(tokensOf(condition))] : tokensOf(condition)
    const isConversion = type === 'Conversion'
    return {
      ...place(n),
      condition_id: isConversion ? '' : (CONDITIONS[condition] as string),
      market_id: isConversion ? MARKETS[0] : '',
      // A condition can be of any token: the last one is now and then of another one.
      collateral_token: condition === 2 && n % 5 === 0 ? '0xf0' : PREDICTION_COLLATERALS[0].address,
      event_type: type,
      holder: pick(WALLETS),
      collateral_amount: type === 'Redemption' && random() < 0.4 ? '0' : amount,
      outcome_token_ids: isConversion ? [] : tokens,
      amounts: isConversion ? [] : tokens.map(() => amount),
    }
  }
  const numbers = Array.from({ length: ROWS }, (_, n) => n)
  const isSettlement = (n: number): boolean => n % 4 === 3
  const managements = [0, 1].flatMap((n) => [
    {
      ...place(2 * n),
      condition_id: '',
      question_id: hash(0xd1 + n),
      market_id: MARKETS[0],
      event_type: 'QuestionPrepared',
    },
    {
      ...place(2 * n + 1),
      condition_id: CONDITIONS[n],
      question_id: hash(0xd1 + n),
      market_id: '',
      event_type: 'ConditionPreparation',
    },
  ])
  return {
    trades: numbers.filter((n) => !isSettlement(n)).map(trade),
    settlements: numbers.filter(isSettlement).map(settlement),
    managements,
  }
}
