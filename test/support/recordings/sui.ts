import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { DecodeContext } from '../../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../../ingestors/decode/protocol-registry.ts'
import type { Recorded } from '../../../ingestors/input/recorded-block.ts'
import { recordedBlock } from '../../../ingestors/recorded/files.ts'
import type { MoveBlock, PoolMetadata } from '../../../schemas/events.ts'

const FOLDER = fileURLToPath(new URL('../../fixtures/', import.meta.url))

/** A trade that a recording holds; sides are the pool's own words for its coins. */
interface ExpectedSui {
  readonly trades: readonly {
    readonly protocol: string
    readonly pool: string
    readonly amountIn: string
    readonly amountOut: string
    readonly tokenIn?: string
  }[]
}

/** Expectations by file name. */
export const suiExpectations = (): Readonly<Record<string, ExpectedSui>> =>
  JSON.parse(readFileSync(`${FOLDER}expected-sui.json`, 'utf8'))

/** Path of a recorded Sui file. */
export const suiRecordingPath = (name: string): string => `${FOLDER}sui/${name}`

/** A recorded Sui file as parsed JSON. */
export const suiRecordingJson = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(suiRecordingPath(name), 'utf8'))

/** Anything that `recordedBlock` reads, as a block. */
export const parseSuiRecording = (json: unknown): Recorded & { readonly block: MoveBlock } => {
  const { block, ...rest } = recordedBlock('sui', json)
  assert.ok(block.vm === 'move')
  return { ...rest, block }
}

/** Books of a run without a node, and with facts where they are given. */
export const suiDecodeContext = (
  pools: readonly PoolMetadata[] = [],
  proof: DecodeContext['verification'] = 'evidence',
): DecodeContext => ({
  verification: proof,
  protocols: protocolRegistry('sui'),
  pool: (address) => pools.find((fact) => fact.address === address),
})
