import { binsAfter } from '../../../core/prices/bin-state.ts'
import { concentratedAfter } from '../../../core/prices/concentrated-state.ts'
import { pricingAfter } from '../../../core/prices/reserve-pricing.ts'
import type {
  BinChange,
  ConcentratedChange,
  ConcentratedState,
  DexPoolEvent,
  DexPoolEvents,
  PoolState,
  ReservePricing,
} from '../../../schemas/wire.ts'

/** Factories of Ethereum, a program of Solana. */
const FACTORIES = {
  uniswap_v2: '0x5c69bee701ef814a2b6a3edd4b1652cb9cc5aa6f',
  uniswap_v3: '0x1f98431c8ad98523631ae4a59f267346ea31f984',
  lfj_v2_2: '0xb43120c4745967fa9b93e79c149e66b0f2d6fe0c',
  raydium_cpmm: 'CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C',
} as const

/** A pool of two tokens in the order of their addresses, with 18 and 6 decimals. */
export interface TestPool {
  readonly address: string
  readonly protocol: keyof typeof FACTORIES
  readonly tokens: readonly [string, string]
  readonly factory?: string
}

/** What an event left in its pool. */
export interface PoolAfter {
  readonly type: 'UNSPECIFIED' | 'INITIALIZE' | 'INCREASE_LIQUIDITY' | 'DECREASE_LIQUIDITY' | 'SWAP'
  readonly reserves?: readonly [bigint, bigint]
  /** What a swap moved, by the order of the tokens. */
  readonly amounts?: readonly [bigint, bigint]
  readonly usd?: number
  readonly concentrated?: Partial<ConcentratedChange>
  readonly pricing?: ReservePricing
  readonly bins?: Partial<BinChange>
  /** Time of its block; default 0. */
  readonly atMs?: number
}

const NO_CHANGE: ConcentratedChange = {
  sqrt_price_x96: '',
  liquidity: '',
  tick: null,
  tick_lower: null,
  tick_upper: null,
  position_liquidity: '',
  fee_pips: 3_000,
}

const NO_BINS: BinChange = {
  token_x: '',
  bin_step: null,
  active_bin: null,
  volatility: null,
  fee_terms: [],
  references: 'BIN_REFERENCES_UNSPECIFIED',
  moves: [],
}

const text = (amount: bigint | undefined): string => (amount === undefined ? '' : String(amount))

/** One event as processing publishes it, and the state that the next event finds. */
export const poolEventAfter = (
  { address, protocol, tokens, factory = FACTORIES[protocol] }: TestPool,
  { type, reserves, amounts, usd, concentrated, pricing, bins, atMs = 0 }: PoolAfter,
  before: PoolState | null,
  index = 0,
): { readonly event: DexPoolEvent; readonly state: PoolState } => {
  const half = usd === undefined ? '' : String(usd / 2)
  const event = {
    instruction: {
      index: 0,
      is_inner_instruction: false,
      inner_instruction_index: 0,
      log_index: index,
      type: protocol,
      event_index: index,
    },
    block: null,
    transaction: null,
    d_app: { program_address: factory, inner_program_address: '', chain: 'CHAIN_ETHEREUM' },
    quote_price_in_usd: '1',
    quote_price_in_native: '',
    type: `DEX_POOL_EVENT_TYPE_${type}`,
    // The quote of the pair is its first token: what is kept must not depend on that.
    pool: {
      address,
      token_a_address: tokens[1],
      token_b_address: tokens[0],
      lp_wallet: '',
      token_a_vault_address: '',
      token_a_vault_owner_address: '',
      token_a_amount: text(amounts?.[1] ?? 0n),
      token_b_vault_address: '',
      token_b_vault_owner_address: '',
      token_b_amount: text(amounts?.[0] ?? 0n),
      token_a_vault_pre_amount: '',
      token_b_vault_pre_amount: '',
      token_a_decimals: 6,
      token_b_decimals: 18,
      token_a_vault_post_amount: text(reserves?.[1]),
      token_b_vault_post_amount: text(reserves?.[0]),
    },
    pool_processed: {
      token_a_amount_in_native: '',
      token_a_amount_in_usd: '',
      token_a_vault_pre_amount_in_native: '',
      token_a_vault_pre_amount_in_usd: '',
      token_a_vault_post_amount_in_native: '',
      token_a_vault_post_amount_in_usd: half,
      token_b_amount_in_native: '',
      token_b_amount_in_usd: '',
      token_b_vault_pre_amount_in_native: '',
      token_b_vault_pre_amount_in_usd: '',
      token_b_vault_post_amount_in_native: '',
      token_b_vault_post_amount_in_usd: half,
      token_a_liquidity: null,
      token_a_max_liquidity: null,
      token_b_liquidity: null,
      token_b_max_liquidity: null,
      owner_dapp_program: '',
      curve_progress: '',
      before,
      token_a_liquidity_before: null,
      token_a_max_liquidity_before: null,
    },
    bonding_curve: null,
    concentrated: concentrated ? { ...NO_CHANGE, ...concentrated } : null,
    pricing: pricing ?? null,
    bins: bins ? { ...NO_BINS, ...bins } : null,
  } as const satisfies DexPoolEvent
  const after: ConcentratedState | null = concentratedAfter(event, before?.concentrated ?? null)
  return {
    event,
    state: {
      token_a_vault_amount: text(reserves?.[1]),
      token_b_vault_amount: text(reserves?.[0]),
      liquidity_in_usd: usd === undefined ? '' : String(usd),
      liquidity_in_native: '',
      // Units of the first token, of 18 decimals, for one of the second, of 6.
      price: amounts ? String(Number(amounts[0]) / 1e12 / Number(amounts[1])) : '',
      curve_progress: '',
      time: 0,
      concentrated: after,
      pricing: pricingAfter(event, before?.pricing ?? null),
      bins: binsAfter(event, before?.bins ?? null, atMs),
    },
  }
}

/** A record of one block. */
export const poolRecord = (
  op: 'OP_APPLY' | 'OP_REVERT',
  seq: number,
  events: readonly DexPoolEvent[],
  atMs = 0,
): DexPoolEvents => ({
  meta: {
    chain: 'eth',
    op,
    seq,
    commitment: 'COMMITMENT_CONFIRMED',
    height: seq,
    slot: seq,
    hash: '',
    parent_hash: '',
    block_time: atMs,
    part: 0,
    parts: 1,
    produced_at: 0,
  },
  events: [...events],
})
