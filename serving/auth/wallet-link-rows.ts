import type { WalletLink } from '../../schemas/wire.ts'

/** Name of a wallet in records and audit lines: kind and address. */
export const walletKey = (kind: string, address: string): string => `${kind}:${address}`

/** True while a wallet signs in for an application; a row of one that does not keeps out proofs of before. */
export const isLinked = ({ app_id }: WalletLink): boolean => app_id !== ''

/**
 * Whether a token of a wallet counts for its link. Once a link of the wallet has ended, only tokens signed no earlier than the proof of
 * the next link do: those of before were given, and may have been shown, to whom the wallet belonged then. The first version of a row has no link before it.
 */
export const countsForLink = ({ proofs_after, version }: WalletLink, issuedAtMs: number): boolean =>
  version === 1 || issuedAtMs >= proofs_after

/** The row of a wallet that no longer signs in: proofs of until now are used up. */
export const unlinkedRow = (row: WalletLink, nowMs: number): WalletLink => ({
  ...row,
  org_id: '',
  app_id: '',
  proofs_after: Math.max(nowMs, row.proofs_after),
  version: row.version + 1,
})
