import type { DeepPartial } from '../../core/codec/contract.ts'
import { nativeTokenName } from '../../schemas/chains.ts'
import type { LaunchVenue, Migration, TokenCreation, TokenMetadata } from '../../schemas/events.ts'
import { protocolRow } from '../../schemas/protocols.ts'
import type * as Wire from '../../schemas/wire.ts'
import type { MetadataSource } from '../decode/contract.ts'
import { blockHead, type Head, type Keyed, type MappingContext } from './context.ts'

/** `token.Token.decimals` of a token whose decimals are not known: the wire has no null there. */
export const UNKNOWN_DECIMALS = -1

/** A token's name and symbol; where the chain says none, as the tables of chains and quote assets know it. */
const tokenNames = (
  { chain, quoteAssets }: MappingContext,
  { address, name, symbol }: TokenMetadata,
): Pick<Wire.Token, 'name' | 'symbol'> => {
  const native = nativeTokenName(chain, address)
  return {
    name: name || native?.name || '',
    symbol: symbol || native?.symbol || quoteAssets.assets.get(address)?.symbol || '',
  }
}

const tokenRecord = (
  context: MappingContext,
  metadata: TokenMetadata,
  additional: Readonly<Record<string, string>>,
): DeepPartial<Wire.Token> => ({
  address: metadata.address,
  ...tokenNames(context, metadata),
  decimals: metadata.decimals ?? UNKNOWN_DECIMALS,
  uri: metadata.uri ?? '',
  additional_metadata: {
    ...additional,
    ...(metadata.totalSupplyRaw !== null && { total_supply: String(metadata.totalSupplyRaw) }),
  },
  ...context.mapping.tokenFields(metadata),
})

/** Metadata of a token, in the block that first needed them. */
export const metadataEvent = (
  context: MappingContext,
  metadata: TokenMetadata,
  metadataSource: MetadataSource,
  index: number,
): Keyed<Wire.TokenEvent> => ({
  key: metadata.address,
  event: {
    instruction: {
      index: 0,
      type: context.mapping.tokenKind,
      event_index: index,
      log_index: 0,
    },
    block: blockHead(context),
    d_app: { chain: context.chain.wire },
    type: 'EVENT_TYPE_UPDATED',
    token: tokenRecord(context, metadata, { facts: metadataSource }),
  },
})

const launchRecord = (
  { chain, pool }: MappingContext,
  place: LaunchVenue,
): DeepPartial<Wire.Launch> => {
  const row = protocolRow(place.protocol)
  return {
    program_address: pool(place.pool)?.factory ?? row?.factories[chain.id]?.[0] ?? '',
    protocol_family: place.protocol,
    protocol_name: row?.name ?? '',
    pool_address: place.pool,
  }
}

const txOf = (head: Head): string => head.transaction?.signature ?? ''

/** A token that came to be. */
export const tokenCreatedEvent = (
  context: MappingContext,
  { metadata, dev, creators, launch }: TokenCreation,
  head: Head,
): Keyed<Wire.TokenEvent> => ({
  key: metadata.address,
  event: {
    type: 'EVENT_TYPE_CREATED',
    ...head,
    token: {
      creators: creators.map((address) => ({ address, verified: true, share: 0 })),
      ...tokenRecord(context, metadata, { facts: 'token-created' }),
    },
    ...(launch && { launch_from: launchRecord(context, launch) }),
    created_at: context.block.timeMs,
    created_slot: context.block.height,
    created_tx: txOf(head),
    dev,
  },
})

/** A token that left its curve for a pool. */
export const migrationEvent = (
  context: MappingContext,
  { token, from, to }: Migration,
  head: Head,
): Keyed<Wire.TokenEvent> => ({
  key: token,
  event: {
    type: 'EVENT_TYPE_MIGRATED',
    ...head,
    token: tokenRecord(context, context.token(token) ?? unknownToken(token), {}),
    launch_from: launchRecord(context, from),
    ...(to && { migrated_to: launchRecord(context, to) }),
    migrated_at: context.block.timeMs,
  },
})

const unknownToken = (address: string): TokenMetadata => ({
  address,
  decimals: null,
  name: null,
  symbol: null,
  totalSupplyRaw: null,
})
