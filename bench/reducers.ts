import { PROCESS_PIPELINE } from '../processors/process-pipeline.ts'
import type { FlushResult, Operation, OperationRecord } from '../processors/runtime/stage.ts'
import type { BalanceEvent, TradeEvent } from '../schemas/wire.ts'
import {
  addressAt,
  BareFold,
  BLOCKS_PER_FLUSH,
  pricedChain,
  rawChain,
  rounded,
  sumOf,
  TRADES_PER_BLOCK,
  timesOf,
} from './fold-chain.ts'
import { KeptState } from './kept-state.ts'
import { quantile } from './quantile.ts'

/** One line of the bench: trades per second of every reducer together, and of a plain candle loop over the same trades. */
interface ReducersLine {
  readonly bench: 'reducers'
  readonly node: string
  /** What the reducers had to fold; the plain loop always has the trades only. */
  readonly input: string
  readonly perSecond: number
  /** Time of one flush of 64 blocks. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly barePerSecond: number
  /** Ours divided by bare. */
  readonly ratio: number
  readonly bare: string
}

/** Every reducer over a state that keeps what they give to it, as a lane's store does. */
const everyReducer = () => {
  const state = new KeptState()
  const folding = PROCESS_PIPELINE.load(state)
  return {
    step: (operation: Operation): unknown => folding.step(operation),
    flush: (): FlushResult => {
      const flushed = folding.flush()
      state.take(flushed)
      return flushed
    },
  }
}

const HELD_RAW = 10n ** 15n

/** What the trade did to its wallet and its pool: each holds the same again and again, a little more after a buy. */
const balancesOf = ({ trade, ...place }: TradeEvent): readonly BalanceEvent[] => {
  if (trade === null) return []
  const moved = BigInt(trade.user_a_amount) * (trade.was_original_direction ? -1n : 1n)
  const event = (owner: string, post: bigint): BalanceEvent => ({
    instruction: place.instruction,
    block: place.block,
    transaction: place.transaction,
    d_app: place.d_app,
    balance: {
      token_account_address: owner,
      account_owner_address: owner,
      token_address: trade.token_a_address,
      pre_amount: String(HELD_RAW),
      post_amount: String(post),
      decimals: 9,
      lifecycle: 'ACCOUNT_LIFECYCLE_EXISTING',
    },
    balance_processed: null,
  })
  return [
    event(trade.user_a_account_owner_address, HELD_RAW + moved),
    event(trade.pool_address, HELD_RAW - moved),
  ]
}

const BIRTH = {
  instruction: null,
  block: null,
  transaction: null,
  d_app: null,
  token_processed: null,
  launch_from: null,
  migrated_to: null,
  created_at: 0,
  created_slot: 0,
  created_tx: '0xbirth',
  dev: addressAt(1),
  migrated_at: 0,
}

const birthOf = (address: string): OperationRecord => ({
  topic: 'tokens',
  key: address,
  part: 0,
  value: {
    meta: null,
    events: [
      {
        ...BIRTH,
        type: 'EVENT_TYPE_CREATED',
        token: {
          address,
          name: '',
          symbol: '',
          decimals: 9,
          uri: '',
          metadata_address: '',
          creators: [],
          additional_metadata: {},
          solana_extra: null,
          evm_extra: null,
        },
      },
    ],
  },
})

/** The chain with births of its tokens and two balance changes per trade, by owner and by token. */
const fullChain = (): readonly Operation[] => {
  const born = new Set<string>()
  return rawChain().map((operation) => {
    const births: OperationRecord[] = []
    const balances = operation.records.flatMap((record, part): readonly OperationRecord[] => {
      if (record.topic !== 'trades') return []
      const { meta, events } = record.value
      if (!born.has(record.key)) births.push(birthOf(record.key))
      born.add(record.key)
      const changes = events.flatMap(balancesOf)
      const value = { meta, events: changes }
      return [
        { topic: 'balances', key: record.key, part, value },
        { topic: 'holderDeltas', key: record.key, part, value },
      ]
    })
    return { ...operation, records: [...births, ...operation.records, ...balances] }
  })
}

const compare = (input: string, operations: readonly Operation[]): ReducersLine => {
  const priced = pricedChain()
  const ours: number[] = []
  const bare: number[] = []
  for (let turn = 0; turn < 3; turn += 1) {
    const [one, other] = [timesOf(everyReducer(), operations), timesOf(new BareFold(), priced)]
    if (turn > 0) {
      ours.push(...one)
      bare.push(...other)
    }
  }
  const trades = TRADES_PER_BLOCK * BLOCKS_PER_FLUSH
  const perSecond = (trades * ours.length * 1_000) / sumOf(ours)
  const barePerSecond = (trades * bare.length * 1_000) / sumOf(bare)
  return {
    bench: 'reducers',
    node: process.version,
    input,
    perSecond: Math.round(perSecond),
    p50Ms: rounded(quantile(ours, 0.5)),
    p99Ms: rounded(quantile(ours, 0.99)),
    barePerSecond: Math.round(barePerSecond),
    ratio: rounded(perSecond / barePerSecond),
    bare: 'a loop that folds every trade into three seconds and rolls up what closes',
  }
}

/**
 * The whole pipeline of a lane (prices, candles, statistics, holders, balances, profit and loss, pools, tokens), with reorgs,
 * finality and state to be kept, against the plain candle loop of the `fold` row. They take turns, the first warms up.
 */
export const reducersBench = (): void => {
  for (const line of [
    compare('trades', rawChain()),
    compare('trades, creations, balances', fullChain()),
  ]) {
    process.stdout.write(`${JSON.stringify(line)}\n`)
  }
}
