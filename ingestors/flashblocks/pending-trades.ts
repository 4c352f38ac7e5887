import { hasPassed, withDeadline } from '../../core/deadline.ts'
import { InvalidInput } from '../../core/errors.ts'
import { type QuoteAssets, quoteAssetPricesAt } from '../../core/prices/quote-assets.ts'
import type { ChainRow } from '../../schemas/chains.ts'
import type { EvmBlock, Transaction } from '../../schemas/events.ts'
import type * as Wire from '../../schemas/wire.ts'
import type { FetchedMetadata } from '../decode/contract.ts'
import { fetchMissing, type MetadataReader, withFetched } from '../decode/metadata-reader.ts'
import type { ProtocolRegistry } from '../decode/protocol-registry.ts'
import { decodeEvmBlock, evmLookups } from '../evm/decode/block.ts'
import { eventOf } from '../evm/protocols/families.ts'
import { EVM_MAPPING } from '../evm/to-wire/block-mapping.ts'
import type { BlockRef } from '../follow/contract.ts'
import type { Ledger } from '../publish/metadata-store.ts'
import { eventHead, type Keyed } from '../to-wire/context.ts'
import { orientedSwap } from '../to-wire/oriented-swap.ts'
import { tradeEvent } from '../to-wire/trades.ts'
import type { Flashblock } from './frame.ts'
import type { Payload } from './payload.ts'
import { partTransactions, senderOf } from './transactions.ts'

/** What trades of pre-confirmed blocks are decoded with. */
export interface PendingDeps {
  readonly chain: ChainRow & { readonly chainId: number }
  readonly quoteAssets: QuoteAssets
  readonly protocols: ProtocolRegistry
  /** Of its own: what it may not know of a pre-confirmed block says nothing about the chain. */
  readonly metadata: MetadataReader
}

/** The chain as it stands: what it knows, and its newest block. */
export interface PendingBase {
  readonly known: Pick<Ledger, 'token' | 'pool' | 'quotes'>
  readonly tip: BlockRef
}

/** The trades that a part adds, and the payload behind it. */
export interface PartTrades {
  readonly trades: readonly Keyed<Wire.TradeEvent>[]
  readonly payload: Payload
}

/** Longest wait for metadata of pools that the chain has not met: the next block is not far then. */
const METADATA_WAIT_MS = 2_000

/**
 * Decodes a part as blocks are decoded. Missing metadata is fetched at the newest block, whose state is there; prices are
 * those behind it. Throws `InvalidInput` as `partTransactions`, and `late-facts`; the signal's reason when it aborts.
 */
export const partTrades = async (
  deps: PendingDeps,
  { payload, frame }: { readonly payload: Payload; readonly frame: Flashblock },
  { known, tip }: PendingBase,
  signal: AbortSignal,
): Promise<PartTrades> => {
  const { chain, quoteAssets, protocols, metadata: metadataReader } = deps
  const { chainId } = chain
  const offsets = { chainId, index: payload.transactions, logs: payload.logs }
  const unsigned = partTransactions(frame.transactions, frame.receipts, offsets)
  const block = blockOf(chain.id, payload, await signed(unsigned, frame.transactions))
  const before = withFetched(known, payload.fetched)
  const lookups = evmLookups(block, protocols)
  const at = { ...block, hash: tip.hash, height: tip.height }
  const missing = await withDeadline(signal, METADATA_WAIT_MS, async (limited) => {
    try {
      return await fetchMissing({ reader: metadataReader, known: before }, lookups, at, limited)
    } catch (error) {
      if (!hasPassed(limited)) throw error
      throw new InvalidInput(
        'late-facts',
        `${payload.id}: the node does not say what its pools are`,
      )
    }
  })
  const { token, pool } = withFetched(before, missing)
  const decoded = decodeEvmBlock(block, {
    verification: metadataReader.verification,
    protocols,
    pool,
    token,
  })
  const fetched = both(payload.fetched, {
    tokens: missing.tokens,
    pools: [...missing.pools, ...decoded.pools],
  })
  const quotePrices = quoteAssetPricesAt(known.quotes(), payload.timeMs, quoteAssets)
  const context = {
    chain,
    block,
    mapping: EVM_MAPPING,
    quoteAssets,
    quotePrices,
    ...withFetched(known, fetched),
  }
  const head = eventHead(context)
  const trades = decoded.swaps
    .flatMap((swap) => orientedSwap(context, swap) ?? [])
    .map((side, each) => {
      const index = payload.trades + each
      return unpriced(tradeEvent(context, side, head({ index, ...side.swap })))
    })
  return { trades, payload: behind(payload, { block, trades: trades.length, fetched }) }
}

/** Senders of the transactions whose events may make them traders. */
const signed = (
  transactions: readonly Transaction[],
  raws: readonly string[],
): Promise<readonly Transaction[]> =>
  Promise.all(
    transactions.map(async (tx, place) => {
      const isTrader = tx.logs.some((log) => {
        const by = eventOf(log)?.event.by
        return by !== undefined && by !== 'token'
      })
      return tx.from === '' && isTrader ? { ...tx, from: await senderOf(raws[place] ?? '') } : tx
    }),
  )

/** The block is named by its payload: its hash changes with every part. */
const blockOf = (
  chain: string,
  { id, height, parentHash, timeMs, coinbase }: Payload,
  transactions: readonly Transaction[],
): EvmBlock => ({
  vm: 'evm',
  chain,
  height,
  hash: id,
  parentHash,
  timeMs,
  coinbase,
  transactions,
  gasLimitRaw: 0n,
  gasUsedRaw: 0n,
  baseFeeRaw: 0n,
  difficultyRaw: 0n,
  nonce: '0x',
  extra: '0x',
})

/** A part does not tell what its transactions paid. */
const unpriced = ({ key, event }: Keyed<Wire.TradeEvent>): Keyed<Wire.TradeEvent> => {
  const { transaction } = event
  return {
    key,
    event: transaction ? { ...event, transaction: { ...transaction, fee: '' } } : event,
  }
}

const both = (one: FetchedMetadata, other: FetchedMetadata): FetchedMetadata => ({
  tokens: [...one.tokens, ...other.tokens],
  pools: [...one.pools, ...other.pools],
})

interface Read {
  readonly block: EvmBlock
  readonly trades: number
  readonly fetched: FetchedMetadata
}

const behind = (payload: Payload, { block: { transactions }, trades, fetched }: Read): Payload => ({
  ...payload,
  next: payload.next + 1,
  transactions: payload.transactions + transactions.length,
  logs: transactions.reduce((sum, { logs }) => sum + logs.length, payload.logs),
  trades: payload.trades + trades,
  fetched,
})
