import type { LaunchVenue } from '../../../schemas/events.ts'
import type { ProtocolRow } from '../../../schemas/protocols.ts'
import type { DecodedMigration, DecodedTokenLaunch } from '../protocols/types.ts'
import type { Scope, SwapPosition } from './resolve-swaps.ts'

/** A launchpad made a token or let it go. */
export interface Launch extends SwapPosition {
  readonly decoded: DecodedTokenLaunch | DecodedMigration
  readonly row: ProtocolRow
}

/** Where the events of the transaction start among those of the block. */
interface First {
  readonly swap: number
  readonly change: number
}

type LaunchedToken = Launch & { readonly decoded: DecodedTokenLaunch }
type MigratedToken = Launch & { readonly decoded: DecodedMigration }

/**
 * Token creations and migrations of a transaction that was read to its end: the pool that a token went to is one that the same
 * transaction opened or filled. A token migrates once; of two events that say so the certain one counts.
 */
export const takeLaunches = (scope: Scope, launches: readonly Launch[], first: First): void => {
  const gone = new Map<string, MigratedToken>()
  for (const { decoded, ...launch } of launches) {
    if (decoded.kind === 'token-created') {
      takeTokenLaunch(scope, { ...launch, decoded }, first)
      continue
    }
    if (gone.get(decoded.token)?.decoded.certain !== true)
      gone.set(decoded.token, { ...launch, decoded })
  }
  for (const launch of gone.values()) takeMigration(scope, launch, first)
}

const takeTokenLaunch = (
  scope: Scope,
  { decoded, row, logIndex }: LaunchedToken,
  first: First,
): void => {
  const { tx, out } = scope
  const { token: address, metadata, dev } = decoded
  const known = scope.context.token?.(address)
  const pool = decoded.pool ?? poolOf(scope, address, row, first)?.pool ?? ''
  const maker = dev ?? tx.from
  out.tokenCreations.push({
    kind: 'token-created',
    txIndex: tx.index,
    logIndex,
    metadata: {
      address,
      name: metadata.name ?? known?.name ?? null,
      symbol: metadata.symbol ?? known?.symbol ?? null,
      decimals: metadata.decimals ?? known?.decimals ?? null,
      totalSupplyRaw: metadata.totalSupplyRaw ?? known?.totalSupplyRaw ?? null,
    },
    dev: maker,
    creators: [maker],
    launch: { protocol: row.id, pool },
  })
}

const takeMigration = (scope: Scope, launch: MigratedToken, first: First): void => {
  const { tx, out } = scope
  const { decoded, row, logIndex } = launch
  const { token, pooled, certain } = decoded
  const to = poolOf(scope, pooled, row, first) ?? null
  if (to === null && !certain) return
  const pool = decoded.curve ?? curveOf(scope, token, row, first)
  const from = { protocol: row.id, pool }
  out.migrations.push({ kind: 'migration', txIndex: tx.index, logIndex, token, from, to })
}

/** The pool of another protocol that the transaction gave the token to; one that got liquidity before one that only opened. */
const poolOf = (
  { out }: Scope,
  token: string,
  row: ProtocolRow,
  { change }: First,
): LaunchVenue | undefined => {
  const pools = out.poolChanges
    .slice(change)
    .filter(
      ({ protocol, tokenA, tokenB }) =>
        protocol !== row.id && (tokenA === token || tokenB === token),
    )
  const found = pools.find(({ kind }) => kind === 'increase') ?? pools[0]
  return found && { protocol: found.protocol, pool: found.pool }
}

/** The curve that sold the token in this transaction; '' where none did. */
const curveOf = ({ out }: Scope, token: string, row: ProtocolRow, { swap }: First): string =>
  out.swaps
    .slice(swap)
    .findLast(
      ({ protocol, tokenIn, tokenOut }) =>
        protocol === row.id && (tokenIn === token || tokenOut === token),
    )?.pool ?? ''
