import type { DeepPartial } from '../../core/codec/contract.ts'
import type { ChainRow } from '../../schemas/chains.ts'
import type {
  BalanceChange,
  Block,
  DecodedBlock,
  TokenMetadata,
  Transfer,
} from '../../schemas/events.ts'
import type { Feed } from '../../schemas/feeds.ts'
import type * as Wire from '../../schemas/wire.ts'
import type { StoredAmounts } from '../decode/contract.ts'
import type { BlockHeader } from './block-header.ts'
import type { FeedEvents } from './feeds.ts'

/** What the feeds of a chain find something with. */
export interface FeedContext {
  readonly chain: ChainRow
  /** Those that are on, at least one. */
  readonly feeds: ReadonlySet<Feed>
  readonly amount: StoredAmounts
}

/** What the feeds of a chain find in a block. */
export interface FeedFindings {
  /** Moves of the chain's native token that no log tells. */
  readonly natives?: readonly Transfer[]
  /** What accounts hold of the chain's native token, behind all other balances. */
  readonly nativeBalances?: readonly BalanceChange[]
  /** Events of feeds that only such chains have. */
  readonly feedEvents?: FeedEvents
  /** Running amounts to keep. */
  readonly amounts?: ReadonlyMap<string, bigint>
}

/** Fields of a transaction's event that not all chains have. */
export type OwnTransactionFields = DeepPartial<Wire.TransactionEvent>

/** What differs between virtual machines where their blocks become events. Pure. */
export interface BlockMapping<Kind extends Block = Block> {
  /** Kind of token that their chains have: the type of events that belong to no protocol. */
  readonly tokenKind: string
  /** What the record of a token has on their chains only. */
  tokenFields(metadata: TokenMetadata): Pick<DeepPartial<Wire.Token>, 'evm_extra' | 'solana_extra'>
  /** Header fields of a block's record. */
  header(block: Kind): BlockHeader
  /** Number of a block. */
  blockNumber(block: Kind): number
  /** Who paid the fee of a transaction. */
  feePayer(chain: string, tx: Kind['transactions'][number]): string
  /** Fields of the block's transactions, in their order. */
  transactionFields(block: Kind): readonly OwnTransactionFields[]
  /** What the chain's feeds add to a block. */
  feedFindings(block: Kind, decoded: DecodedBlock, context: FeedContext): FeedFindings
}
