import type { DecodedBlock, EventPosition, TokenMetadata } from '../../schemas/events.ts'
import type { Feed } from '../../schemas/feeds.ts'
import type * as Wire from '../../schemas/wire.ts'
import type { MetadataSource } from '../decode/contract.ts'
import type { FeedFindings } from './block-mapping.ts'
import type { Tracked } from './context.ts'
import { eventHead, type Keyed, type MappingContext } from './context.ts'
import { commonFeedEvents, type FeedEvents } from './feeds.ts'
import { orientedSwap } from './oriented-swap.ts'
import { changeEvent, isPublished, swapEvent } from './pools.ts'
import { metadataEvent, migrationEvent, tokenCreatedEvent } from './tokens.ts'
import { tradeEvent } from './trades.ts'
import { balanceEvent, supplyEvent, transferEvent } from './transfers.ts'

/** Everything that one block publishes in data topics, each in the order of its event index. */
export interface BlockEvents extends FeedEvents {
  readonly trades: readonly Keyed<Wire.TradeEvent>[]
  readonly pools: readonly Keyed<Wire.DexPoolEvent>[]
  readonly transfers: readonly Keyed<Wire.TransferEvent>[]
  readonly tokens: readonly Keyed<Wire.TokenEvent>[]
  readonly tokenMetadata: readonly Keyed<Wire.TokenEvent>[]
  readonly balances: readonly Keyed<Wire.BalanceEvent>[]
  /** The same events as `balances`, keyed by token: what counts holders must see a token's owners in one lane. */
  readonly holderDeltas: readonly Keyed<Wire.BalanceEvent>[]
  readonly tokenSupplies: readonly Keyed<Wire.TokenSupplyEvent>[]
}

/** What was found in a block, ready to be mapped. */
export interface BlockFindings extends Omit<FeedFindings, 'amounts'> {
  readonly decoded: DecodedBlock
  readonly runningTotals: Tracked
  /** Metadata that was fetched for this block. */
  readonly fetched: readonly TokenMetadata[]
  readonly metadataSource: MetadataSource
  /** Feeds of the chain that are on. Default: none. */
  readonly feeds?: ReadonlySet<Feed>
}

/** Type of the moves of a chain's native token. */
const NATIVE_KIND = 'native'
const NO_FEEDS: ReadonlySet<Feed> = new Set()

const inChainOrder = (one: EventPosition, other: EventPosition): number =>
  one.txIndex - other.txIndex || one.logIndex - other.logIndex

const reportedDecimals = ({ balances }: DecodedBlock): ReadonlyMap<string, number> =>
  new Map(balances.flatMap(({ token, decimals }) => (decimals === null ? [] : [[token, decimals]])))

/** Maps what was found in a block to wire events. */
export const blockEvents = (
  findings: MappingContext,
  {
    decoded,
    runningTotals,
    fetched,
    metadataSource,
    natives = [],
    nativeBalances = [],
    feedEvents = {},
    feeds = NO_FEEDS,
  }: BlockFindings,
): BlockEvents => {
  const context = { ...findings, reportedDecimals: reportedDecimals(decoded) }
  const headAt = eventHead(context)
  const { tokenKind } = context.mapping
  const onToken = (at: EventPosition, index: number) =>
    headAt({ ...at, pool: '', protocol: tokenKind, index })
  const onNative = (at: EventPosition, index: number) =>
    headAt({ ...at, pool: '', protocol: NATIVE_KIND, index })
  const swaps = decoded.swaps.flatMap((swap) => orientedSwap(context, swap) ?? [])
  const poolEvents = [
    ...swaps.map((swap) => ({ at: swap.swap, swap })),
    ...decoded.poolChanges.flatMap((change) =>
      isPublished(change) ? [{ at: change, change }] : [],
    ),
  ].sort((a, b) => inChainOrder(a.at, b.at))
  const launches = [...decoded.tokenCreations, ...decoded.migrations].sort(inChainOrder)
  const balances = [
    ...runningTotals.balances.map((balance, index) =>
      balanceEvent(context, balance, onToken(balance, index)),
    ),
    ...nativeBalances.map((change, place) => {
      const index = runningTotals.balances.length + place
      return balanceEvent(context, change, onNative(change, index))
    }),
  ]
  return {
    trades: swaps.map((swap, index) => tradeEvent(context, swap, headAt({ index, ...swap.swap }))),
    pools: poolEvents.map((item, index) =>
      'swap' in item
        ? swapEvent(context, item.swap, headAt({ index, ...item.swap.swap }))
        : changeEvent(context, item.change, headAt({ index, ...item.change })),
    ),
    transfers: [
      ...decoded.transfers.map((transfer, index) =>
        transferEvent(context, transfer, onToken(transfer, index)),
      ),
      ...natives.map((move, place) => {
        const index = decoded.transfers.length + place
        return transferEvent(context, move, onNative(move, index))
      }),
    ],
    tokens: launches.map((launch, index) => {
      const from = launch.kind === 'token-created' ? launch.launch : launch.from
      const { protocol = tokenKind, pool = '' } = from ?? {}
      const head = headAt({ ...launch, protocol, pool, index })
      return launch.kind === 'token-created'
        ? tokenCreatedEvent(context, launch, head)
        : migrationEvent(context, launch, head)
    }),
    tokenMetadata: fetched.map((metadata, index) =>
      metadataEvent(context, metadata, metadataSource, index),
    ),
    balances,
    // Whoever counts holders reads the balance alone.
    holderDeltas: balances.map(({ event: { balance } }) => ({
      key: balance?.token_address ?? '',
      event: { balance: balance ?? null },
    })),
    tokenSupplies: runningTotals.supplies.map((supply, index) =>
      supplyEvent(context, supply, onToken(supply, index)),
    ),
    ...feedEvents,
    ...commonFeedEvents(context, decoded, feeds),
  }
}
