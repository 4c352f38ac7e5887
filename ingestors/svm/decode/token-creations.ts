import type { TokenCreation } from '../../../schemas/events.ts'
import type { CreatedMint, SvmTxContext } from '../protocols/tx-context.ts'

/**
 * Tokens that the transaction made by hand: no launchpad reported them and no listed program made them for itself. Made by who
 * paid. A mint without decimals of which at most one was minted is a collectible.
 */
export const manualTokenCreations = (scope: SvmTxContext): readonly TokenCreation[] => {
  const { mints, launchpadMints } = scope.newMints
  return [...mints].flatMap(([mint, made]) => {
    if (made.byListedProgram || launchpadMints.has(mint)) return []
    const totalSupplyRaw = netMintedRaw(scope, mint)
    return made.decimals === 0 && totalSupplyRaw <= 1n
      ? []
      : [tokenCreationOf(scope, { mint, createdMint: made, totalSupplyRaw })]
  })
}

const netMintedRaw = ({ tx, out }: SvmTxContext, mint: string): bigint =>
  out.supplies.reduce((sum, { txIndex, token, type, amountRaw }) => {
    if (txIndex !== tx.index || token !== mint || type === 'initialize') return sum
    return type === 'mint' ? sum + amountRaw : sum - amountRaw
  }, 0n)

interface CreatedToken {
  readonly mint: string
  readonly createdMint: CreatedMint
  readonly totalSupplyRaw: bigint
}

const tokenCreationOf = (
  { tx, newMints }: SvmTxContext,
  { mint, createdMint, totalSupplyRaw }: CreatedToken,
): TokenCreation => {
  const { program, decimals, mintAuthority, freezeAuthority, txIndex, logIndex, path } = createdMint
  const [name, symbol, uri] = newMints.metadata.get(mint) ?? []
  return {
    kind: 'token-created',
    txIndex,
    logIndex,
    ...(path && { path }),
    metadata: {
      address: mint,
      decimals,
      name: name ?? null,
      symbol: symbol ?? null,
      totalSupplyRaw,
      program,
      ...(uri !== undefined && { uri }),
      ...(mintAuthority !== null && { mintAuthority }),
      ...(freezeAuthority !== null && { freezeAuthority }),
    },
    dev: tx.from,
    creators: [tx.from],
    launch: null,
  }
}
