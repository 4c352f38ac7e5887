/** Hand-made block operations with trades, as stages get them and as the bus carries them. */
import fc from 'fast-check'
import type { Operation } from '../../../processors/runtime/stage.ts'
import type { BlockEvent, EventMeta, Op, TradeEvent } from '../../../schemas/wire.ts'

/** One trade of a token against a quote; prices of the quote as the ingestor stamps them. */
export interface TapeTrade {
  readonly base: string
  readonly quote: string
  readonly pool: string
  readonly baseRaw: bigint
  readonly quoteRaw: bigint
  readonly baseDecimals: number | null
  readonly quoteDecimals: number | null
  readonly buy: boolean
  readonly quoteUsd: string
  readonly quoteNative: string
  /** Suspect reason, where the tape stands for trades that were priced already. */
  readonly suspect: boolean
  /** Default: all by one. */
  readonly trader?: string
}

/** A block of the tape. */
export interface TapeBlock {
  readonly height: number
  readonly hash: string
  readonly parent: string
  readonly timeMs: number
  readonly trades: readonly TapeTrade[]
}

/** One operation: what the ingestor would commit. */
export interface TapeOp {
  readonly op: 'apply' | 'revert' | 'finalize'
  readonly seq: number
  /** The block applied or taken back; for finalize the newest final one. */
  readonly block: TapeBlock
  readonly finalHeight: number
}

/** What is to happen next, before heights and hashes are known. */
export type ChainStep =
  | { readonly kind: 'apply'; readonly stepMs: number; readonly trades: readonly TapeTrade[] }
  | { readonly kind: 'revert' }
  | { readonly kind: 'finalize'; readonly keep: number }

/** A tape and where its chain stands at the end. */
export interface Tape {
  readonly ops: readonly TapeOp[]
  /** Canonical blocks, oldest first. */
  readonly blocks: readonly TapeBlock[]
  readonly finalHeight: number
}

/** Plays moves on an empty chain; a revert below the final block does nothing. */
export const buildTape = (
  moves: readonly ChainStep[],
  startMs = Date.UTC(2026, 0, 31, 23, 58),
): Tape => {
  const ops: TapeOp[] = []
  let blocks: TapeBlock[] = []
  let finalHeight = 0
  let serial = 0
  for (const move of moves) {
    const tip = blocks.at(-1)
    const seq = ops.length + 1
    if (move.kind === 'apply') {
      serial += 1
      const block: TapeBlock = {
        height: (tip?.height ?? 0) + 1,
        hash: `0xb${serial}`,
        parent: tip?.hash ?? '0xb0',
        timeMs: (tip?.timeMs ?? startMs) + move.stepMs,
        trades: move.trades,
      }
      blocks = [...blocks, block]
      ops.push({ op: 'apply', seq, block, finalHeight })
    } else if (move.kind === 'revert' && tip !== undefined && tip.height > finalHeight) {
      blocks = blocks.slice(0, -1)
      ops.push({ op: 'revert', seq, block: tip, finalHeight })
    } else if (move.kind === 'finalize') {
      const block = blocks.at(-1 - move.keep)
      if (block === undefined || block.height <= finalHeight) continue
      finalHeight = block.height
      ops.push({ op: 'finalize', seq, block, finalHeight })
    }
  }
  return { ops, blocks, finalHeight }
}

const OPS = { apply: 'OP_APPLY', revert: 'OP_REVERT', finalize: 'OP_FINALIZE' } as const

/** Meta of an operation. */
export const tapeMeta = ({ op, seq, block }: TapeOp, part = 0, parts = 1): EventMeta => ({
  chain: 'eth',
  op: OPS[op] as Op,
  seq,
  commitment: 'COMMITMENT_PROCESSED',
  height: block.height,
  slot: block.height,
  hash: block.hash,
  parent_hash: block.parent,
  block_time: block.timeMs,
  part,
  parts,
  produced_at: 0,
})

/** The `{c}.blocks` record of an operation. */
export const tapeBlockEvent = (op: TapeOp, spans: BlockEvent['spans'] = []): BlockEvent => ({
  meta: tapeMeta(op),
  quote_prices: [],
  parent_slot: op.block.height - 1,
  tx_count: op.block.trades.length,
  coinbase: '',
  gas_limit: '',
  gas_used: '',
  base_fee: '',
  difficulty: '',
  nonce: '',
  extra: Buffer.alloc(0),
  rewards_count: 0,
  priority_fee: '',
  counts: {},
  spans,
  final_seq: 0,
  final_height: op.finalHeight,
  cursor: '',
})

/** The raw trade event of a tape's trade. */
export const tapeTradeEvent = (block: TapeBlock, index: number): TradeEvent => {
  const trade = block.trades[index]
  if (trade === undefined) throw new RangeError(`block ${block.hash} has no trade ${index}`)
  const trader = trade.trader ?? '0x00000000000000000000000000000000000000aa'
  return {
    instruction: {
      index: 0,
      is_inner_instruction: false,
      inner_instruction_index: 0,
      type: 'uniswap_v2',
      event_index: index,
      log_index: index * 3,
    },
    block: {
      timestamp: block.timeMs,
      hash: block.hash,
      height: block.height,
      slot: block.height,
    },
    transaction: {
      fee: '21000000000000',
      fee_payer: trader,
      index,
      signature: `0x${block.hash.slice(2)}f${index}`,
      signer: trader,
      status: 'STATUS_SUCCESS',
      bundles: [],
    },
    d_app: { program_address: '0xfa', inner_program_address: '', chain: 'CHAIN_ETHEREUM' },
    quote_price_in_usd: trade.quoteUsd,
    quote_price_in_native: trade.quoteNative,
    trade: {
      token_a_address: trade.base,
      token_b_address: trade.quote,
      user_a_token_account_address: '',
      user_a_account_owner_address: trader,
      user_b_token_account_address: '',
      user_b_account_owner_address: trader,
      user_a_amount: String(trade.baseRaw),
      user_b_amount: String(trade.quoteRaw),
      user_a_pre_amount: '',
      user_a_post_amount: '',
      user_b_pre_amount: '',
      user_b_post_amount: '',
      was_original_direction: !trade.buy,
      token_a_decimals: trade.baseDecimals,
      token_b_decimals: trade.quoteDecimals,
      pool_address: trade.pool,
      vault_a: trade.pool,
      vault_b: trade.pool,
      vault_a_owner_address: trade.pool,
      vault_b_owner_address: trade.pool,
      vault_a_amount: '',
      vault_b_amount: '',
      vault_a_pre_amount: '',
      vault_b_pre_amount: '',
      vault_a_post_amount: '',
      vault_b_post_amount: '',
      pool_config_address: '',
    },
    bonding_curve: null,
    trade_processed: null,
  }
}

/** Indexes of a block's trades in the order in which an operation publishes them. */
export const tradeOrder = ({ op, block }: TapeOp): readonly number[] => {
  const indexes = block.trades.map((_, index) => index)
  return op === 'revert' ? indexes.toReversed() : indexes
}

const USDC = '0xusdc'
const tradeArbitrary: fc.Arbitrary<TapeTrade> = fc.record({
  base: fc.constantFrom('0xaaa', '0xbbb', '0xzzz'),
  quote: fc.constantFrom(USDC, '0xweth'),
  pool: fc.constantFrom('0xp1', '0xp2', '0xp3'),
  baseRaw: fc.bigInt({ min: 1n, max: 10n ** 15n }),
  quoteRaw: fc.bigInt({ min: 1n, max: 10n ** 12n }),
  baseDecimals: fc.constantFrom(6, 9),
  quoteDecimals: fc.constantFrom(6, 6, 6, null),
  buy: fc.boolean(),
  quoteUsd: fc.constantFrom('1', '0.998', '3021.55', ''),
  quoteNative: fc.constantFrom('0.00033', '1', ''),
  suspect: fc.constantFrom(false, false, false, true),
})

const SECOND = 1_000
const STEPS = [0, SECOND, 12 * SECOND, 61 * SECOND, 3_600 * SECOND, 86_400 * SECOND] as const

/** Any history of a chain: blocks in all rhythms, reorgs, finality at any distance. */
export const chainStepsArbitrary: fc.Arbitrary<readonly ChainStep[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('apply' as const),
        stepMs: fc.constantFrom(...STEPS),
        trades: fc.array(tradeArbitrary, { maxLength: 5 }),
      }),
    },
    { weight: 2, arbitrary: fc.constant({ kind: 'revert' as const }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('finalize' as const),
        keep: fc.nat({ max: 4 }),
      }),
    },
  ),
  { maxLength: 40 },
)

/** An operation as a stage gets it: one record per trade, so that parts matter. */
export const tapeOperation = (
  op: TapeOp,
  topic: 'trades' | 'tradesProcessed',
  finish: (event: TradeEvent, block: TapeBlock, index: number) => TradeEvent = (event) => event,
): Operation => ({
  block: tapeBlockEvent(op),
  records:
    op.op === 'finalize'
      ? []
      : tradeOrder(op).map((index, part) => ({
          topic,
          key: op.block.trades[index]?.base ?? '',
          part,
          value: {
            meta: tapeMeta(op, part, op.block.trades.length),
            events: [finish(tapeTradeEvent(op.block, index), op.block, index)],
          },
        })),
})
