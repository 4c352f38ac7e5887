import { decimalText } from '../core/amounts.ts'
import type { Draft } from '../core/codec-contract.ts'
import { NO_STAMP, orient, type QuoteBook, type Stamp } from '../core/quotes.ts'
import type { ChainRow } from '../schemas/chains.ts'
import type {
  Block,
  Decoded,
  PoolChange,
  PoolFact,
  Swap,
  TokenFact,
  Transfer,
} from '../schemas/events.ts'
import type * as Wire from '../schemas/wire.ts'

/** Where a token's facts come from: the node's own answers, or rows that the operator gave. */
export type FactOrigin = 'node' | 'file'

/** `token.Token.decimals` of a token whose decimals are not known: the wire has no null there. */
export const UNKNOWN_DECIMALS = -1

/** What the mapping of one block needs beside the block. */
export interface MappingContext {
  readonly chain: ChainRow
  readonly block: Block
  readonly book: QuoteBook
  /** Prices of quote assets as of the end of the block before (R44). */
  readonly stamps: ReadonlyMap<string, Stamp>
  readonly token: (address: string) => TokenFact | undefined
  readonly pool: (address: string) => PoolFact | undefined
}

/** An event with the record key it travels under. */
interface Keyed<Event> {
  readonly key: string
  readonly event: Draft<Event>
}

/** Everything that one block publishes in data topics, each in the order of its event index. */
export interface BlockEvents {
  readonly trades: readonly Keyed<Wire.TradeEvent>[]
  readonly pools: readonly Keyed<Wire.DexPoolEvent>[]
  readonly transfers: readonly Keyed<Wire.TransferEvent>[]
  readonly tokenMetadata: readonly Keyed<Wire.TokenEvent>[]
}

/** Maps what was decoded from a block, and the facts that it was the first to need, to wire events. */
export const blockEvents = (
  context: MappingContext,
  decoded: Decoded,
  learned: readonly TokenFact[],
  origin: FactOrigin,
): BlockEvents => {
  const transactions = new Map<number, AnyTransaction>()
  for (const tx of context.block.transactions) transactions.set(tx.index, tx)
  const place = (at: Place): Head => head(context, transactions.get(at.txIndex), at)
  const swaps = decoded.swaps.flatMap((swap) => sided(context, swap) ?? [])
  const poolEvents = [
    ...swaps.map((swap) => ({ at: swap.swap.logIndex, swap })),
    ...decoded.poolChanges.flatMap((change) =>
      isPublished(change) ? [{ at: change.logIndex, change }] : [],
    ),
  ].sort((a, b) => a.at - b.at)
  return {
    trades: swaps.map((swap, index) => tradeEvent(context, swap, place({ ...swap.swap, index }))),
    pools: poolEvents.map((item, index) =>
      'swap' in item
        ? swapEvent(context, item.swap, place({ ...item.swap.swap, index }))
        : changeEvent(context, item.change, place({ ...item.change, index })),
    ),
    transfers: decoded.transfers.map((transfer, index) =>
      transferEvent(context, transfer, place({ ...transfer, pool: '', protocol: 'erc20', index })),
    ),
    tokenMetadata: learned.map((fact, index) => tokenEvent(context, fact, origin, index)),
  }
}

interface Place {
  readonly txIndex: number
  readonly logIndex: number
  readonly pool: string
  readonly protocol: string
  readonly index: number
}

type AnyTransaction = Block['transactions'][number]

type Head = Pick<Draft<Wire.TradeEvent>, 'instruction' | 'block' | 'transaction' | 'd_app'>

const head = (context: MappingContext, tx: AnyTransaction | undefined, place: Place): Head => ({
  instruction: {
    index: 0,
    type: place.protocol,
    event_index: place.index,
    log_index: place.logIndex,
  },
  block: blockHead(context.block),
  transaction: tx === undefined ? null : transactionHead(tx),
  d_app: {
    program_address: context.pool(place.pool)?.factory ?? '',
    inner_program_address: '',
    chain: context.chain.wire as Wire.Chain,
  },
})

const blockHead = (block: Block): Wire.Block => ({
  timestamp: block.timeMs,
  hash: block.hash,
  height: block.vm === 'svm' ? (block.blockHeight ?? block.height) : block.height,
  slot: block.height,
})

const transactionHead = (tx: AnyTransaction): Draft<Wire.Transaction> => ({
  fee: String(tx.feeRaw),
  fee_payer: tx.from,
  index: tx.index,
  signature: tx.hash,
  signer: tx.from,
  status: tx.success ? 'STATUS_SUCCESS' : 'STATUS_FAILED',
})

/** A swap seen from its pair: a = base, b = quote; amounts as the pool logged them. */
interface Sided {
  readonly swap: Swap
  readonly base: string
  readonly quote: string
  /** The trader gave base and got quote. */
  readonly sells: boolean
  readonly baseRaw: bigint
  readonly quoteRaw: bigint
  /** Reserves after the swap as [base, quote]. */
  readonly post: readonly [bigint, bigint] | undefined
}

const sided = (context: MappingContext, swap: Swap): Sided | undefined => {
  const { tokenIn, tokenOut, amountInRaw, amountOutRaw } = swap
  if (tokenIn === null || tokenOut === null || tokenIn === tokenOut) return undefined
  const { base, quote } = orient(tokenIn, tokenOut, context.book)
  const sells = tokenIn === base
  const [baseRaw, quoteRaw] = sells ? [amountInRaw, amountOutRaw] : [amountOutRaw, amountInRaw]
  const post = orientedReserves(context, swap, base)
  return { swap, base, quote, sells, baseRaw, quoteRaw, post }
}

/** Reserves are logged in the pool's own order; without a fact that is the order of the addresses (V2 and V3 shapes). */
const orientedReserves = (
  context: MappingContext,
  { pool, tokenIn, tokenOut, reserves }: Swap,
  base: string,
): readonly [bigint, bigint] | undefined => {
  if (reserves === undefined || tokenIn === null || tokenOut === null) return undefined
  const first = context.pool(pool)?.tokenA ?? (tokenIn < tokenOut ? tokenIn : tokenOut)
  return first === base ? reserves : [reserves[1], reserves[0]]
}

/** A reserve before or after an event; unknown where it was not logged or cannot be. */
const rawText = (raw: bigint | undefined): string =>
  raw === undefined || raw < 0n ? '' : String(raw)

/** Vault amounts of both sides: what moved, and the reserves around it where the pool logs them. */
const vaults = ({ sells, baseRaw, quoteRaw, post }: Sided) => {
  const [basePost, quotePost] = post ?? []
  const basePre = basePost === undefined ? undefined : basePost + (sells ? -baseRaw : baseRaw)
  const quotePre = quotePost === undefined ? undefined : quotePost + (sells ? quoteRaw : -quoteRaw)
  return {
    basePre: rawText(basePre),
    basePost: rawText(basePost),
    quotePre: rawText(quotePre),
    quotePost: rawText(quotePost),
  }
}

const decimalsOf = ({ token, book }: MappingContext, address: string): number | null => {
  const fact = token(address)
  return fact?.decimals ?? book.assets.get(address)?.decimals ?? null
}

const stampText = ({ stamps }: MappingContext, quote: string) => {
  const { usd, native } = stamps.get(quote) ?? NO_STAMP
  return { quote_price_in_usd: decimalText(usd), quote_price_in_native: decimalText(native) }
}

const tradeEvent = (context: MappingContext, side: Sided, place: Head): Keyed<Wire.TradeEvent> => {
  const { swap, base, quote, sells, baseRaw, quoteRaw } = side
  const vault = vaults(side)
  return {
    key: base,
    event: {
      ...place,
      ...stampText(context, quote),
      trade: {
        token_a_address: base,
        token_b_address: quote,
        user_a_account_owner_address: swap.trader,
        user_b_account_owner_address: swap.trader,
        user_a_amount: String(baseRaw),
        user_b_amount: String(quoteRaw),
        was_original_direction: sells,
        token_a_decimals: decimalsOf(context, base),
        token_b_decimals: decimalsOf(context, quote),
        pool_address: swap.pool,
        vault_a: swap.pool,
        vault_b: swap.pool,
        vault_a_owner_address: swap.pool,
        vault_b_owner_address: swap.pool,
        vault_a_amount: String(baseRaw),
        vault_b_amount: String(quoteRaw),
        vault_a_pre_amount: vault.basePre,
        vault_b_pre_amount: vault.quotePre,
        vault_a_post_amount: vault.basePost,
        vault_b_post_amount: vault.quotePost,
      },
    },
  }
}

interface PoolSides {
  readonly pool: string
  readonly base: string
  readonly quote: string
  readonly baseRaw: bigint
  readonly quoteRaw: bigint
  readonly wallet: string
}

const poolRecord = (
  context: MappingContext,
  { pool, base, quote, baseRaw, quoteRaw, wallet }: PoolSides,
  vault: ReturnType<typeof vaults>,
): Draft<Wire.DexPool> => ({
  address: pool,
  token_a_vault_address: pool,
  token_a_vault_owner_address: pool,
  token_a_address: base,
  token_a_amount: String(baseRaw),
  token_a_vault_pre_amount: vault.basePre,
  token_a_vault_post_amount: vault.basePost,
  token_a_decimals: decimalsOf(context, base),
  token_b_vault_address: pool,
  token_b_vault_owner_address: pool,
  token_b_address: quote,
  token_b_amount: String(quoteRaw),
  token_b_vault_pre_amount: vault.quotePre,
  token_b_vault_post_amount: vault.quotePost,
  token_b_decimals: decimalsOf(context, quote),
  lp_wallet: wallet,
})

const swapEvent = (
  context: MappingContext,
  side: Sided,
  place: Head,
): Keyed<Wire.DexPoolEvent> => ({
  key: side.base,
  event: {
    ...place,
    ...stampText(context, side.quote),
    type: 'DEX_POOL_EVENT_TYPE_SWAP',
    pool: poolRecord(context, { ...side, pool: side.swap.pool, wallet: '' }, vaults(side)),
  },
})

/** A change that the wire has a type for; what a V3 position collects was taken out by its `decrease` already. */
type PublishedChange = PoolChange & { readonly kind: keyof typeof CHANGE_TYPES }

const isPublished = (change: PoolChange): change is PublishedChange => change.kind in CHANGE_TYPES

const CHANGE_TYPES = {
  initialize: 'DEX_POOL_EVENT_TYPE_INITIALIZE',
  increase: 'DEX_POOL_EVENT_TYPE_INCREASE_LIQUIDITY',
  decrease: 'DEX_POOL_EVENT_TYPE_DECREASE_LIQUIDITY',
} as const

const changeEvent = (
  context: MappingContext,
  change: PublishedChange,
  place: Head,
): Keyed<Wire.DexPoolEvent> => {
  const { base, quote } = orient(change.tokenA, change.tokenB, context.book)
  const flip = <T>(pair: readonly [T, T]): readonly [T, T] =>
    base === change.tokenA ? pair : [pair[1], pair[0]]
  const [baseRaw, quoteRaw] = flip([change.amountARaw, change.amountBRaw])
  const [basePost, quotePost] = change.reserves === undefined ? [] : flip(change.reserves)
  const moved = (post: bigint | undefined, raw: bigint): bigint | undefined =>
    post === undefined ? undefined : change.kind === 'decrease' ? post + raw : post - raw
  return {
    key: base,
    event: {
      ...place,
      ...stampText(context, quote),
      type: CHANGE_TYPES[change.kind],
      pool: poolRecord(
        context,
        { pool: change.pool, base, quote, baseRaw, quoteRaw, wallet: change.owner },
        {
          basePre: rawText(moved(basePost, baseRaw)),
          basePost: rawText(basePost),
          quotePre: rawText(moved(quotePost, quoteRaw)),
          quotePost: rawText(quotePost),
        },
      ),
    },
  }
}

const transferEvent = (
  context: MappingContext,
  { token, from, to, amountRaw }: Transfer,
  place: Head,
): Keyed<Wire.TransferEvent> => ({
  key: token,
  event: {
    ...place,
    transfer: {
      sender_account_owner_address: from,
      receiver_account_owner_address: to,
      token_address: token,
      token_amount: String(amountRaw),
      token_decimals: decimalsOf(context, token),
      success: true,
    },
  },
})

const tokenEvent = (
  { block, chain }: MappingContext,
  fact: TokenFact,
  origin: FactOrigin,
  index: number,
): Keyed<Wire.TokenEvent> => ({
  key: fact.address,
  event: {
    instruction: { index: 0, type: 'erc20', event_index: index, log_index: 0 },
    block: blockHead(block),
    d_app: { chain: chain.wire as Wire.Chain },
    type: 'EVENT_TYPE_UPDATED',
    token: {
      address: fact.address,
      name: fact.name ?? '',
      symbol: fact.symbol ?? '',
      decimals: fact.decimals ?? UNKNOWN_DECIMALS,
      additional_metadata: {
        facts: origin,
        ...(fact.totalSupplyRaw !== null && { total_supply: String(fact.totalSupplyRaw) }),
      },
      evm_extra: { token_standard: 'TOKEN_STANDARD_ERC20' },
    },
  },
})
