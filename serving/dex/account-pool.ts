import type { Pool } from './pool.ts'
import type { SolanaAccount } from './solana-node.ts'

/** What is known of a pool before its account is read. */
export interface AccountPoolHead {
  readonly kind: Pool['kind']
  readonly address: string
  /** Row of `schemas/protocols.ts`. */
  readonly protocol: string
  readonly tokens: readonly [string, string]
  /** Value of both sides; null = not known. */
  readonly tvlUsd: number | null
}

/** An account that was asked for; undefined: there is none. */
export interface FoundAccount {
  readonly address: string
  readonly account: SolanaAccount | undefined
}

/**
 * Pools of one program whose events do not tell all that they price with: their accounts are read from a node. An account that is not of the
 * layout throws `Fault` DEX_ROUTE_BUILD_FAILED or makes null; nothing is guessed.
 */
export interface AccountPoolFamily {
  /** Program that the account of a pool must belong to. */
  readonly program: string
  /** Further accounts that a quote needs, from the data of the pool's account; at most 16. */
  accounts(address: string, pool: Uint8Array): Promise<readonly string[]>
  /** The pool; `found` are the accounts of `accounts`, in their order. null: no quote of it would be exact. */
  pool(head: AccountPoolHead, pool: Uint8Array, found: readonly FoundAccount[]): Pool | null
}
