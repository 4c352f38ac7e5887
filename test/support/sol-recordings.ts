import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Books } from '../../ingestors/decode/contract.ts'
import { protocolBook } from '../../ingestors/decode/protocol-registry.ts'
import { recordedBlock } from '../../ingestors/recorded/files.ts'
import type { PoolFact, SvmBlock, SvmTransaction } from '../../schemas/events.ts'

const FOLDER = fileURLToPath(new URL('../fixtures/', import.meta.url))

/** What a recorded transaction holds of the protocols that are decoded; places are instruction paths. */
export interface ExpectedSol {
  readonly failed: boolean
  readonly trades: readonly {
    readonly path: string
    readonly protocol: string
    readonly pool?: string
    readonly trader: string
    readonly tokenIn: string
    readonly amountIn: string
    readonly tokenOut: string
    readonly amountOut: string
  }[]
  readonly created: readonly {
    readonly mint: string
    readonly name: string
    readonly symbol: string
    readonly uri: string
    readonly user: string
    readonly bonding_curve: string
  }[]
  readonly migrated: readonly {
    readonly mint: string
    readonly bonding_curve: string
    readonly pool: string
  }[]
  /** Path, token (`SOL`: the coin), amount. */
  readonly transfers?: readonly (readonly [string, string, string])[]
}

/** Expectations by file name. */
export const solExpectations = (): Readonly<Record<string, ExpectedSol>> =>
  JSON.parse(readFileSync(`${FOLDER}expected-sol.json`, 'utf8'))

/** Names of the recorded Solana transactions. */
export const solNames = (): readonly string[] =>
  readdirSync(`${FOLDER}sol`)
    .filter((name) => name in solExpectations())
    .sort()

/** Path of a recorded Solana file. */
export const solPath = (name: string): string => `${FOLDER}sol/${name}`

/** A recorded Solana file as parsed JSON. */
export const solJson = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(solPath(name), 'utf8'))

/** A recorded Solana transaction as a block that holds it alone. */
export const solRecording = (name: string): SvmBlock => {
  const { block } = recordedBlock('sol', solJson(name))
  assert.ok(block.vm === 'svm')
  return block
}

/** The transaction of a recording. */
export const solTransaction = (name: string): SvmTransaction => {
  const [tx] = solRecording(name).transactions
  assert.ok(tx)
  return tx
}

/** Solana's tables, and pools that are known already. */
export const solBooks = (pools: readonly PoolFact[] = []): Books => ({
  proof: 'facts',
  protocols: protocolBook('sol'),
  pool: (address) => pools.find((fact) => fact.address === address),
})
