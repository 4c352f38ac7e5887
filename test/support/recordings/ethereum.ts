import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Recorded } from '../../../ingestors/input/recorded-block.ts'
import { recordedBlock } from '../../../ingestors/recorded/files.ts'
import type { EvmBlock, Log } from '../../../schemas/events.ts'

const FOLDER = fileURLToPath(new URL('../../fixtures/', import.meta.url))

/** A swap that a recording holds; `spoof` marks a forged event. */
export interface ExpectedSwap {
  readonly txHash?: string
  readonly logIndex: number
  readonly event: string
  /** Who logged it; pools whose tokens another contract holds are named beside it. */
  readonly address: string
  readonly poolId?: string
  readonly pool?: string
  readonly tokenIn: string | null
  readonly amountIn: string
  readonly tokenOut: string | null
  readonly amountOut: string
  readonly tokenSource: string
  readonly spoof?: boolean
}

/** What a recording holds. */
export interface Expected {
  readonly erc20Transfers?: number
  readonly swaps: readonly ExpectedSwap[]
}

/** The pool of a swap as the product names it: its contract where it has one, else its id. */
export const expectedPool = ({ event, address, poolId, pool }: ExpectedSwap): string =>
  (event.startsWith('balv2.') ? poolId?.slice(0, 42) : (pool ?? poolId)) ?? address

/** Names of the recorded ethereum files. */
export const recordingNames = (): readonly string[] => readdirSync(`${FOLDER}ethereum`).sort()

/** Path of a recorded ethereum file. */
export const recordingPath = (name: string): string => `${FOLDER}ethereum/${name}`

/** A recorded ethereum file as parsed JSON. */
export const recordingJson = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(recordingPath(name), 'utf8'))

/** A recorded ethereum file as a block. */
export const recordedEthereumBlock = (name: string): EvmBlock =>
  parseEvmRecording(recordingJson(name)).block

/** A parsed recording of an EVM chain. */
export const parseEvmRecording = (json: unknown): Recorded & { readonly block: EvmBlock } => {
  const recorded = recordedBlock('eth', json)
  const { block } = recorded
  if (block.vm !== 'evm') throw new Error('no EVM block')
  return { ...recorded, block }
}

const CHAIN = 'ethereum/'

/** What each recorded ethereum file holds, by file name. */
export const ethereumExpectations = (): ReadonlyMap<string, Expected> =>
  new Map(
    Object.entries(
      JSON.parse(readFileSync(`${FOLDER}expected.json`, 'utf8')) as Record<string, Expected>,
    ).flatMap(([name, expected]) =>
      name.startsWith(CHAIN) ? [[name.slice(CHAIN.length), expected] as const] : [],
    ),
  )

/** A word of event data: numbers in two's complement, addresses padded. */
export const hexWord = (value: bigint | string): string =>
  typeof value === 'string'
    ? value.slice(2).padStart(64, '0')
    : BigInt.asUintN(256, value).toString(16).padStart(64, '0')

/** A log of a synthetic transaction. */
export const buildLog = (
  address: string,
  topics: readonly string[],
  words: readonly (bigint | string)[],
): Omit<Log, 'index'> => ({ address, topics, data: `0x${words.map(hexWord).join('')}` })

/** A block of one transaction with these logs. */
export const buildSingleTransactionBlock = (
  logs: readonly Omit<Log, 'index'>[],
  { success = true, from = `0x${'f0'.repeat(20)}` } = {},
): EvmBlock => ({
  vm: 'evm',
  chain: 'eth',
  height: 1,
  hash: `0x${'01'.repeat(32)}`,
  parentHash: `0x${'00'.repeat(32)}`,
  timeMs: 0,
  coinbase: `0x${'00'.repeat(20)}`,
  gasLimitRaw: 0n,
  gasUsedRaw: 0n,
  baseFeeRaw: 0n,
  difficultyRaw: 0n,
  nonce: '0x',
  extra: '0x',
  transactions: [
    {
      hash: `0x${'02'.repeat(32)}`,
      index: 0,
      from,
      to: null,
      valueRaw: 0n,
      feeRaw: 0n,
      success,
      contractAddress: null,
      logs: logs.map((log, index) => ({ ...log, index })),
    },
  ],
})
