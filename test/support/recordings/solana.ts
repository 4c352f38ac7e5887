import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { DecodeContext } from '../../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../../ingestors/decode/protocol-registry.ts'
import { recordedBlock } from '../../../ingestors/recorded/files.ts'
import type { PoolMetadata, SvmBlock, SvmTransaction } from '../../../schemas/events.ts'

const FOLDER = fileURLToPath(new URL('../../fixtures/', import.meta.url))

/** What a recorded transaction holds of the protocols that are decoded; places are instruction paths. */
export interface ExpectedSolana {
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
export const solanaExpectations = (): Readonly<Record<string, ExpectedSolana>> =>
  JSON.parse(readFileSync(`${FOLDER}expected-sol.json`, 'utf8'))

/** Names of the recorded Solana transactions. */
export const solanaRecordingNames = (): readonly string[] =>
  readdirSync(`${FOLDER}sol`)
    .filter((name) => name in solanaExpectations())
    .sort()

/** Path of a recorded Solana file. */
export const solanaRecordingPath = (name: string): string => `${FOLDER}sol/${name}`

/** A recorded Solana file as parsed JSON. */
export const solanaRecordingJson = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(solanaRecordingPath(name), 'utf8'))

/** A recorded Solana transaction as a block that holds it alone. */
export const recordedSolanaBlock = (name: string): SvmBlock => {
  const { block } = recordedBlock('sol', solanaRecordingJson(name))
  assert.ok(block.vm === 'svm')
  return block
}

/** The transaction of a recording. */
export const recordedSolanaTransaction = (name: string): SvmTransaction => {
  const [tx] = recordedSolanaBlock(name).transactions
  assert.ok(tx)
  return tx
}

/** Solana's tables, and pools that are known already. */
export const solanaDecodeContext = (pools: readonly PoolMetadata[] = []): DecodeContext => ({
  verification: 'facts',
  protocols: protocolRegistry('sol'),
  pool: (address) => pools.find((fact) => fact.address === address),
})
