import { decodeEventLog, type Hex, parseAbi } from 'viem'
import type { DecodeContext } from '../ingestors/decode/contract.ts'
import { protocolRegistry } from '../ingestors/decode/protocol-registry.ts'
import { decodeBlock } from '../ingestors/vm/decode-block.ts'
import type { EvmBlock, Log, PoolMetadata } from '../schemas/events.ts'
import { recordedEthereumBlock, recordingNames } from '../test/support/recordings/ethereum.ts'
import { quantile } from './quantile.ts'

const V2_SWAP = '0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822'
const ROUNDS = 400

/** Every pool of the recording is a proven V2 pool, and known: what an ingestor holds after a while. */
const booksFor = (blocks: readonly EvmBlock[]): DecodeContext => {
  const facts = new Map<string, PoolMetadata>()
  for (const { address } of blocks.flatMap(({ transactions }) =>
    transactions.flatMap((tx) => tx.logs),
  )) {
    facts.set(address, {
      address,
      tokenA: `0x${'0a'.repeat(20)}`,
      tokenB: `0x${'0b'.repeat(20)}`,
      protocol: 'uniswap_v2',
      factory: null,
      feePips: 3000,
      verified: true,
    })
  }
  return {
    verification: 'facts',
    protocols: protocolRegistry('eth'),
    pool: (address) => facts.get(address),
  }
}

interface BareSwap {
  readonly pool: string
  readonly to: string
  readonly amount0In: bigint
  readonly amount1In: bigint
  readonly amount0Out: bigint
  readonly amount1Out: bigint
  readonly logIndex: number
}

/** The bare decoder: one event, one condition, no table, no proof, no netting. */
const bareSwap = ({ address, topics, data, index }: Log): BareSwap | undefined => {
  if (topics[0] !== V2_SWAP) return undefined
  return {
    pool: address,
    to: `0x${(topics[2] ?? '').slice(26)}`,
    amount0In: BigInt(`0x${data.slice(2, 66)}`),
    amount1In: BigInt(`0x${data.slice(66, 130)}`),
    amount0Out: BigInt(`0x${data.slice(130, 194)}`),
    amount1Out: BigInt(`0x${data.slice(194, 258)}`),
    logIndex: index,
  }
}

const bareBlock = (block: EvmBlock): readonly BareSwap[] => {
  const swaps: BareSwap[] = []
  for (const { logs } of block.transactions) {
    for (const log of logs) {
      const swap = bareSwap(log)
      if (swap) swaps.push(swap)
    }
  }
  return swaps
}

const SWAP_ABI = parseAbi([
  'event Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, uint256 amount1Out, address indexed to)',
])

/** The same logs through a general ABI decoder. */
const viemBlock = (block: EvmBlock): number => {
  let swaps = 0
  for (const { logs } of block.transactions) {
    for (const { topics, data } of logs) {
      const { args } = decodeEventLog({
        abi: SWAP_ABI,
        topics: topics as [Hex, ...Hex[]],
        data: data as Hex,
      })
      if (args.amount0In + args.amount1In > 0n) swaps += 1
    }
  }
  return swaps
}

const onlySwaps = (block: EvmBlock): EvmBlock => ({
  ...block,
  transactions: block.transactions.map((tx) => ({
    ...tx,
    logs: tx.logs.filter(({ topics }) => topics[0] === V2_SWAP),
  })),
})

interface Row {
  readonly samples: number[]
  readonly work: () => void
}

const elapsedMs = (work: () => void): number => {
  const start = process.hrtime.bigint()
  work()
  return Number(process.hrtime.bigint() - start) / 1e6
}

const rounded = (value: number): number => Number(value.toPrecision(4))

/**
 * Prints one JSON line: Uniswap V2 swaps per second through the whole decoder (table, proof, netting, trader), through a bare
 * one and through viem's `decodeEventLog`, in turns over the same recorded logs; one pass over them is a sample. `blockP50Ms` is a whole recorded block of 291 logs.
 */
export const decodeBench = (): void => {
  const blocks = recordingNames()
    .filter((name) => name.startsWith('block_'))
    .map(recordedEthereumBlock)
  const fixture = blocks.map(onlySwaps)
  const books = booksFor(blocks)
  const whole = blocks.find(({ height }) => height === 18_000_000)
  const ours: number[] = []
  const bare: number[] = []
  const viem: number[] = []
  const block: number[] = []
  let swaps = 0
  const rows: readonly [Row, Row, ...Row[]] = [
    {
      samples: ours,
      work: () => {
        swaps = fixture.reduce((sum, each) => sum + decodeBlock(each, books).swaps.length, 0)
      },
    },
    {
      samples: bare,
      work: () => {
        const found = fixture.reduce((sum, each) => sum + bareBlock(each).length, 0)
        if (found < swaps) throw new Error('the bare decoder missed swaps')
      },
    },
    {
      samples: viem,
      work: () => {
        if (fixture.reduce((sum, each) => sum + viemBlock(each), 0) < swaps) {
          throw new Error('viem missed swaps')
        }
      },
    },
    {
      samples: block,
      work: () => {
        if (whole) decodeBlock(whole, books)
      },
    },
  ]
  for (let round = -ROUNDS / 4; round < ROUNDS; round += 1) {
    // Who goes second finds the logs in the processor's caches, so the first two take turns.
    const [one, other, ...rest] = rows
    const turns = round % 2 === 0 ? [one, other, ...rest] : [other, one, ...rest]
    for (const { samples, work } of turns) {
      const tookMs = elapsedMs(work)
      if (round >= 0) samples.push(tookMs)
    }
  }
  for (const samples of [ours, bare, viem, block]) samples.sort((a, b) => a - b)
  const perSecond = (swaps / quantile(ours, 0.5)) * 1_000
  const barePerSecond = (swaps / quantile(bare, 0.5)) * 1_000
  const line = {
    bench: 'decode',
    node: process.version,
    perSecond: Math.round(perSecond),
    p50Ms: rounded(quantile(ours, 0.5)),
    p99Ms: rounded(quantile(ours, 0.99)),
    barePerSecond: Math.round(barePerSecond),
    ratio: rounded(perSecond / barePerSecond),
    aim: 0.8,
    timesViem: rounded(quantile(viem, 0.5) / quantile(ours, 0.5)),
    aimTimesViem: 10,
    bare: 'loop over the same V2 Swap logs: one topic compared, four words read, one record made',
    blockP50Ms: rounded(quantile(block, 0.5)),
  }
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
