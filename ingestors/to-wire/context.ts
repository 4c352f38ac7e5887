import { formatDecimal } from '../../core/amounts.ts'
import type { DeepPartial } from '../../core/codec/contract.ts'
import type { QuoteAssetPrice, QuoteAssets } from '../../core/prices/quote-assets.ts'
import { UNKNOWN_QUOTE_ASSET_PRICE } from '../../core/prices/quote-assets.ts'
import type { ChainRow } from '../../schemas/chains.ts'
import type {
  BalanceChange,
  Block,
  CurveState,
  EventPosition,
  PoolMetadata,
  SupplyChange,
  TokenMetadata,
} from '../../schemas/events.ts'
import type { ReservePricing } from '../../schemas/reserve-pricing.ts'
import type * as Wire from '../../schemas/wire.ts'
import type { BlockMapping } from './block-mapping.ts'

/** What the mapping of one block needs beside the block. */
export interface MappingContext {
  readonly chain: ChainRow
  readonly block: Block
  /** That of the block's virtual machine. */
  readonly mapping: BlockMapping
  readonly quoteAssets: QuoteAssets
  /** Prices of quote assets as of the end of the block before. */
  readonly quotePrices: ReadonlyMap<string, QuoteAssetPrice>
  readonly token: (address: string) => TokenMetadata | undefined
  readonly pool: (address: string) => PoolMetadata | undefined
  /** Decimals that the block itself tells of tokens: Solana's balances name them. */
  readonly reportedDecimals?: ReadonlyMap<string, number>
}

/** An event with the record key it travels under. */
export interface Keyed<Event> {
  readonly key: string
  readonly event: DeepPartial<Event>
}

/** Where an event stands, and what its head says of it. */
export interface WirePosition extends EventPosition {
  readonly pool: string
  readonly protocol: string
  /** Ordinal of the event in its block and topic. */
  readonly index: number
}

/** The four headers of every event. */
export type Head = Pick<
  DeepPartial<Wire.TradeEvent>,
  'instruction' | 'block' | 'transaction' | 'd_app'
>

/** Makes heads of events: knows the block's transactions. */
export const eventHead = (context: MappingContext): ((place: WirePosition) => Head) => {
  const transactions = new Map<number, Transaction>(
    context.block.transactions.map((tx) => [tx.index, tx]),
  )
  const block = blockHead(context)
  // Events of one transaction share its head, which the record then carries once.
  const made = new Map<number, DeepPartial<Wire.Transaction> | null>()
  const transaction = (txIndex: number): DeepPartial<Wire.Transaction> | null => {
    const known = made.get(txIndex)
    if (known !== undefined) return known
    const head = transactionHead(context, transactions.get(txIndex))
    made.set(txIndex, head)
    return head
  }
  return (place) => ({
    instruction: instructionHead(place),
    block,
    transaction: transaction(place.txIndex),
    d_app: {
      program_address: context.pool(place.pool)?.factory ?? '',
      inner_program_address: '',
      chain: context.chain.wire,
    },
  })
}

type Transaction = Block['transactions'][number]

const instructionHead = ({
  path,
  protocol,
  index,
  logIndex,
}: WirePosition): DeepPartial<Wire.Instruction> => ({
  index: path?.outer ?? 0,
  ...(path !== undefined &&
    path.inner !== null && { is_inner_instruction: true, inner_instruction_index: path.inner }),
  type: protocol,
  event_index: index,
  log_index: logIndex,
})

/** The block of an event: its number beside the height that orders it, which is a slot on Solana. */
export const blockHead = ({ block, mapping }: MappingContext): Wire.Block => ({
  timestamp: block.timeMs,
  hash: block.hash,
  height: mapping.blockNumber(block),
  slot: block.height,
})

const transactionHead = (
  { block, mapping }: MappingContext,
  tx: Transaction | undefined,
): DeepPartial<Wire.Transaction> | null =>
  tx === undefined
    ? null
    : {
        // What Sui pays back for storage can be more than the fee: the wire has no amounts below zero.
        fee: String(tx.feeRaw < 0n ? 0n : tx.feeRaw),
        fee_payer: mapping.feePayer(block.chain, tx),
        index: tx.index,
        signature: tx.hash,
        signer: tx.from,
        status: tx.success ? 'STATUS_SUCCESS' : 'STATUS_FAILED',
      }

/** Decimals of a token: from its metadata, from the tables of quote assets and chains, or as its block tells them; null = unknown. */
export const decimalsOf = (context: MappingContext, address: string): number | null => {
  const { token, quoteAssets, reportedDecimals, chain } = context
  if (address === chain.nativeAddress) return chain.nativeDecimals
  const known = token(address)?.decimals ?? quoteAssets.assets.get(address)?.decimals
  return known ?? reportedDecimals?.get(address) ?? null
}

/** Prices that the trades and pool events of a quote are stamped with. */
export const quotePriceText = ({ quotePrices }: MappingContext, quote: string) => {
  const { usd, native } = quotePrices.get(quote) ?? UNKNOWN_QUOTE_ASSET_PRICE
  return { quote_price_in_usd: formatDecimal(usd), quote_price_in_native: formatDecimal(native) }
}

/** A reserve of a pool; unknown where it was not reported or cannot be. */
export const rawText = (raw: bigint | undefined): string =>
  raw === undefined || raw < 0n ? '' : String(raw)

/** What a pool prices with after an event, where that proves it; `flip` turns its sides into base and quote. */
export const pricingRecord = (
  pricing: ReservePricing | undefined,
  flip: (pair: readonly [bigint, bigint]) => readonly [bigint, bigint],
) => {
  if (pricing === undefined) return undefined
  const [reserveA, reserveB] = flip(pricing.reserves)
  const [foundA, foundB] = flip(pricing.found)
  return {
    pricing: {
      reserve_a: rawText(reserveA),
      reserve_b: rawText(reserveB),
      found_a: rawText(foundA),
      found_b: rawText(foundB),
      fees: [...pricing.feePips],
      fee_token: pricing.feeToken ?? '',
    },
  }
}

/** A bonding curve as it is after an event, where there is one. */
export const curveRecord = (curve: CurveState | undefined) =>
  curve && {
    bonding_curve: {
      virtual_quote_reserves: rawText(curve.virtualQuoteRaw ?? undefined),
      virtual_token_reserves: rawText(curve.virtualTokenRaw ?? undefined),
      real_quote_reserves: rawText(curve.realQuoteRaw),
      real_token_reserves: rawText(curve.realTokenRaw ?? undefined),
    },
  }

/** A supply change with the supply after it; null where it is not known. */
export interface SuppliedChange extends SupplyChange {
  readonly postRaw: bigint | null
}

/** What running amounts add to a block: supplies with their sums, balances that the chain does not log. */
export interface Tracked {
  readonly balances: readonly BalanceChange[]
  readonly supplies: readonly SuppliedChange[]
  /** Amounts to keep; null = forget. */
  readonly amounts: ReadonlyMap<string, bigint | null>
}
