import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { recordedBlock } from '../../../ingestors/recorded/files.ts'
import type { EvmBlock } from '../../../schemas/events.ts'
import type { ExpectedSwap } from './ethereum.ts'

const FOLDER = fileURLToPath(new URL('../../fixtures/', import.meta.url))

/** The coin's move as ZKsync's base token logs it. */
export interface ExpectedNativeTransfer {
  readonly from_: string
  readonly to: string
  readonly value: string
}

/** What a recording of a chain holds. */
export interface ExpectedOnChain {
  readonly erc20Transfers?: number
  readonly nativeTransfers?: readonly ExpectedNativeTransfer[]
  readonly swaps?: readonly (ExpectedSwap & { readonly poolId?: string })[]
}

/** Recordings of EVM chains beside Ethereum as `chain/file`, and what they hold. */
export const chainExpectations = (): ReadonlyMap<string, ExpectedOnChain> =>
  new Map(Object.entries(JSON.parse(readFileSync(`${FOLDER}expected-evm.json`, 'utf8'))))

/** Names of the recordings, `chain/file`. */
export const chainRecordings = (): readonly string[] => [...chainExpectations().keys()]

/** Path of a recording. */
export const chainRecordingPath = (name: string): string => `${FOLDER}${name}`

/** A recording as parsed JSON. */
export const chainRecordingJson = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(chainRecordingPath(name), 'utf8'))

/** A recording as a block. */
export const chainRecording = (name: string): EvmBlock => {
  const { block } = recordedBlock(name.split('/')[0] ?? '', chainRecordingJson(name))
  if (block.vm !== 'evm') throw new Error('no EVM block')
  return block
}
