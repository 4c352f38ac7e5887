import type { LaunchVenue } from '../../../schemas/events.ts'
import type { ProtocolRow } from '../../../schemas/protocols.ts'
import type { SaidBirth, SaidMigration } from '../protocols/types.ts'
import type { Place, Scope } from './resolve-swaps.ts'

/** A launchpad made a token or let it go. */
export interface Launch extends Place {
  readonly said: SaidBirth | SaidMigration
  readonly row: ProtocolRow
}

/** Where the events of the transaction start among those of the block. */
interface First {
  readonly swap: number
  readonly change: number
}

type Born = Launch & { readonly said: SaidBirth }
type Gone = Launch & { readonly said: SaidMigration }

/**
 * Births and migrations of a transaction that was read to its end: the pool that a token went to is one that the same
 * transaction opened or filled. A token migrates once; of two events that say so the certain one counts.
 */
export const takeLaunches = (scope: Scope, launches: readonly Launch[], first: First): void => {
  const gone = new Map<string, Gone>()
  for (const { said, ...launch } of launches) {
    if (said.kind === 'birth') {
      takeBirth(scope, { ...launch, said }, first)
      continue
    }
    if (gone.get(said.token)?.said.certain !== true) gone.set(said.token, { ...launch, said })
  }
  for (const launch of gone.values()) takeMigration(scope, launch, first)
}

const takeBirth = (scope: Scope, { said, row, logIndex }: Born, first: First): void => {
  const { tx, out } = scope
  const { token: address, fact, dev } = said
  const known = scope.books.token?.(address)
  const pool = said.pool ?? poolOf(scope, address, row, first)?.pool ?? ''
  const maker = dev ?? tx.from
  out.births.push({
    kind: 'birth',
    txIndex: tx.index,
    logIndex,
    fact: {
      address,
      name: fact.name ?? known?.name ?? null,
      symbol: fact.symbol ?? known?.symbol ?? null,
      decimals: fact.decimals ?? known?.decimals ?? null,
      totalSupplyRaw: fact.totalSupplyRaw ?? known?.totalSupplyRaw ?? null,
    },
    dev: maker,
    creators: [maker],
    launch: { protocol: row.id, pool },
  })
}

const takeMigration = (scope: Scope, launch: Gone, first: First): void => {
  const { tx, out } = scope
  const { said, row, logIndex } = launch
  const { token, pooled, certain } = said
  const to = poolOf(scope, pooled, row, first) ?? null
  if (to === null && !certain) return
  const pool = said.curve ?? curveOf(scope, token, row, first)
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
