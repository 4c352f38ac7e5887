import { LRUCache } from 'lru-cache'
import { Outage } from '../../../core/errors.ts'
import { parseMoveType } from '../../../core/move-type.ts'
import type { Logger } from '../../../core/ops/logger.ts'
import { retry } from '../../../core/retry.ts'
import type { CallEndpoint, RpcPool } from '../../../core/rpc/pool.ts'
import type { PoolMetadata, TokenMetadata } from '../../../schemas/events.ts'
import type { MetadataReader } from '../../decode/metadata-reader.ts'
import type { ProtocolRegistry } from '../../decode/protocol-registry.ts'
import { fieldsOf, orElse } from '../../input/json.ts'
import { cleanText } from '../../input/text.ts'
import { parseAmount, parseUint } from '../../svm/layout/json.ts'
import { MAX_NAME_LENGTH, MAX_SYMBOL_LENGTH } from '../decode/token-creations.ts'
import { parseString } from '../normalize/json.ts'
import { coinsFromPoolType } from '../protocols/tx-context.ts'
import { isNotFound, METHOD } from './node-queries.ts'

/** Checkpoints before a coin or pool that the node knew nothing of is asked for again. */
const RETRY_MISSING_AFTER_CHECKPOINTS = 4_096
/** Coins and pools that are remembered as unknown. */
const MAX_MISSING_LOOKUPS = 20_000

/** Dependencies of the metadata reader. */
export interface MoveMetadataOptions {
  readonly protocols: ProtocolRegistry
  readonly log: Logger
}

/**
 * Metadata of coins and pools that existed before the block that first names them, as they are now: a pool's coins never
 * change, nor a coin's decimals. A supply is reported only where it is fixed: what can be minted or burned changes without an event.
 */
export const moveMetadataReader = (
  rpc: RpcPool,
  { protocols, log }: MoveMetadataOptions,
): MetadataReader => {
  const silent = new LRUCache<string, number>({ max: MAX_MISSING_LOOKUPS })
  return {
    metadataSource: 'node',
    verification: 'facts',
    read: async ({ pools, tokens }, { height }, signal) => {
      const wanted = (addresses: readonly string[]): readonly string[] =>
        addresses.filter(
          (each) =>
            height - (silent.get(each) ?? Number.NEGATIVE_INFINITY) >=
            RETRY_MISSING_AFTER_CHECKPOINTS,
        )
      const cachedOrFetched = async <T extends object>(
        addresses: readonly string[],
        read: (ask: CallEndpoint, address: string) => Promise<T | null>,
      ): Promise<readonly T[]> => {
        const found = await Promise.all(
          wanted(addresses).map(async (address) => {
            const metadata = await queryWithRetry(rpc, (ask) => read(ask, address), { log, signal })
            if (metadata === null) silent.set(address, height)
            return metadata
          }),
        )
        return found.filter((metadata) => metadata !== null)
      }
      const addresses = pools.map(({ address }) => address)
      return {
        pools: await cachedOrFetched(addresses, (ask, address) =>
          fetchPool(ask, address, protocols),
        ),
        tokens: await cachedOrFetched(tokens, fetchCoinMetadata),
      }
    },
  }
}

interface LookupRetry {
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Asked until an endpoint answers; null = it knows nothing. */
const queryWithRetry = <T extends object>(
  rpc: RpcPool,
  read: (ask: CallEndpoint) => Promise<T | null>,
  { log, signal }: LookupRetry,
): Promise<T | null> =>
  retry(
    async () => {
      const found = await rpc.attempt((ask) => read(ask))
      if (found === undefined) throw new Outage('rpc', 'metadata lookup failed on every endpoint')
      return found
    },
    {
      firstMs: 200,
      maxMs: 10_000,
      tries: Number.POSITIVE_INFINITY,
      signal,
      again: (error) => !(error instanceof Outage && error.final),
      onRetry: (error, attempt) =>
        log.warn({ err: error, attempt }, 'metadata lookup failed, retrying'),
    },
  )

/** The answer, or null where the node does not have what was asked for. */
const queryOrNull = (ask: CallEndpoint, method: string, request: object): Promise<unknown> =>
  ask({ method, params: [request] }).catch((error: unknown) => {
    if (isNotFound(error)) return null
    throw error
  })

const fetchCoinMetadata = async (
  ask: CallEndpoint,
  address: string,
): Promise<TokenMetadata | null> => {
  const raw = await queryOrNull(ask, METHOD.coin, { coinType: address })
  if (raw === null) return null
  const { metadata, treasury } = fieldsOf(raw, 'coin info')
  const reported = orElse(metadata, 'metadata', { read: fieldsOf, fallback: null })
  if (reported === null) return null
  const text = (value: unknown, limit: number): string | null =>
    cleanText(orElse(value, 'metadata text', { read: parseString, fallback: '' }), limit)
  const decimals = orElse(reported.decimals, 'decimals', { read: parseUint, fallback: null })
  return {
    address,
    decimals: decimals === null || decimals > 255 ? null : decimals,
    name: text(reported.name, MAX_NAME_LENGTH),
    symbol: text(reported.symbol, MAX_SYMBOL_LENGTH),
    totalSupplyRaw: fixedSupply(orElse(treasury, 'treasury', { read: fieldsOf, fallback: {} })),
  }
}

const fixedSupply = ({ supplyState, totalSupply }: Readonly<Record<string, unknown>>) =>
  supplyState === 'FIXED'
    ? orElse(totalSupply, 'totalSupply', { read: parseAmount, fallback: null })
    : null

const POOL_FIELDS = { paths: ['object_id', 'object_type'] }

const fetchPool = async (
  ask: CallEndpoint,
  address: string,
  protocols: ProtocolRegistry,
): Promise<PoolMetadata | null> => {
  const raw = await queryOrNull(ask, METHOD.object, { objectId: address, readMask: POOL_FIELDS })
  if (raw === null) return null
  const object = fieldsOf(fieldsOf(raw, 'answer').object, 'object')
  const text = orElse(object.objectType, 'objectType', { read: parseString, fallback: '' })
  const type = parseMoveType(text)
  const row = type && protocols.factory(type.package)
  const coins = type && coinsFromPoolType(type)
  if (row === undefined || coins === undefined) return null
  const [tokenA, tokenB] = coins
  return {
    address,
    tokenA,
    tokenB,
    protocol: row.id,
    factory: type?.package ?? null,
    feePips: row.feePips ?? null,
    verified: true,
  }
}
