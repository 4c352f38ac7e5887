import { setTimeout as sleep } from 'node:timers/promises'
import type { BlockRef, ChainOp, Position, Source } from '../../../ingestors/follow/contract.ts'
import type {
  Block,
  EvmBlock,
  Log,
  PoolMetadata,
  TokenMetadata,
  Transaction,
} from '../../../schemas/events.ts'

/** A simulated chain for tests of the ingestor's shell: real event layouts, every block given by hand. */

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const SYNC = '0x1c411e9a96e071241c2f21f7726b17ae89e3cab4c78be50e062b03a9fffbbad1'
const SWAP = '0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822'

export const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
export const USDT = '0xdac17f958d2ee523a2206206994597c13d831ec7'
export const DAI = '0x6b175474e89094c44da98b954eedeac495271d0f'
export const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
export const WBTC = '0x2260fac5e5542a773aa44fbcfedf7c193bc2c599'
export const TOKEN = '0x00000000000000000000000000000000000000c1'
export const TRADER = '0x00000000000000000000000000000000000000aa'
export const FACTORY = '0x5c69bee701ef814a2b6a3edd4b1652cb9cc5aa6f'
export const WETH_POOL = '0x00000000000000000000000000000000000000b1'
export const TOKEN_POOL = '0x00000000000000000000000000000000000000b2'

const DECIMALS: Readonly<Record<string, number>> = {
  [USDC]: 6,
  [USDT]: 6,
  [DAI]: 18,
  [WETH]: 18,
  [WBTC]: 8,
  [TOKEN]: 9,
}

/** Facts of the hand-made tokens. */
export const TOKENS: readonly TokenMetadata[] = Object.entries(DECIMALS).map(
  ([address, decimals]) => ({
    address,
    decimals,
    name: `Token ${address.slice(-2)}`,
    symbol: address.slice(-2).toUpperCase(),
    totalSupplyRaw: 10n ** 24n,
  }),
)

/** A pool that its listed factory names. */
export const buildPoolMetadata = (address: string, one: string, two: string): PoolMetadata => {
  const [tokenA = '', tokenB = ''] = [one, two].sort()
  const protocol = 'uniswap_v2'
  return { address, tokenA, tokenB, protocol, factory: FACTORY, feePips: 3000, verified: true }
}

/** Facts of the two hand-made pools. */
export const POOLS: readonly PoolMetadata[] = [
  buildPoolMetadata(WETH_POOL, WETH, USDC),
  buildPoolMetadata(TOKEN_POOL, TOKEN, WETH),
]

/** One swap of a transaction. */
export interface EvmSwapInput {
  readonly pool: string
  readonly tokenIn: string
  readonly tokenOut: string
  readonly amountInRaw: bigint
  readonly amountOutRaw: bigint
  readonly reservesRaw: readonly [bigint, bigint]
}

const hexWord = (value: bigint): string => value.toString(16).padStart(64, '0')
const addressTopic = (address: string): string => `0x${'0'.repeat(24)}${address.slice(2)}`
const hash = (text: string): string => `0x${Buffer.from(text).toString('hex').padStart(64, '0')}`

const transferLog = (
  token: string,
  from: string,
  to: string,
  amountRaw: bigint,
): Omit<Log, 'index'> => ({
  address: token,
  topics: [TRANSFER, addressTopic(from), addressTopic(to)],
  data: `0x${hexWord(amountRaw)}`,
})

/** Logs of a V2 swap as the chain writes them: both transfers, Sync, Swap. */
const swapLogs = (swap: EvmSwapInput): readonly Omit<Log, 'index'>[] => {
  const { pool, tokenIn, tokenOut, amountInRaw, amountOutRaw, reservesRaw } = swap
  const zeroForOne = tokenIn < tokenOut
  const ins = zeroForOne ? [amountInRaw, 0n] : [0n, amountInRaw]
  const outs = zeroForOne ? [0n, amountOutRaw] : [amountOutRaw, 0n]
  return [
    transferLog(tokenIn, TRADER, pool, amountInRaw),
    transferLog(tokenOut, pool, TRADER, amountOutRaw),
    { address: pool, topics: [SYNC], data: `0x${reservesRaw.map(hexWord).join('')}` },
    {
      address: pool,
      topics: [SWAP, addressTopic(TRADER), addressTopic(TRADER)],
      data: `0x${[...ins, ...outs].map(hexWord).join('')}`,
    },
  ]
}

/** A block above `parent` with one transaction per swap. `fork` names the branch. */
export const buildEvmBlock = (
  place: { readonly height: number; readonly parentHash?: string; readonly timeMs?: number },
  swaps: readonly EvmSwapInput[],
  fork = 'a',
): EvmBlock => {
  const { height } = place
  let index = 0
  const transactions: readonly Transaction[] = swaps.map((swap, at) => ({
    hash: hash(`tx ${fork} ${height} ${at}`),
    index: at,
    from: TRADER,
    to: swap.pool,
    valueRaw: 0n,
    feeRaw: 21_000n,
    success: true,
    contractAddress: null,
    logs: swapLogs(swap).map((log) => {
      index += 1
      return { ...log, index: index - 1 }
    }),
  }))
  return {
    vm: 'evm',
    chain: 'eth',
    height,
    hash: hash(`block ${fork} ${height}`),
    parentHash: place.parentHash ?? hash(`block a ${height - 1}`),
    timeMs: place.timeMs ?? 1_700_000_000_000 + height * 12_000,
    coinbase: `0x${'00'.repeat(20)}`,
    gasLimitRaw: 30_000_000n,
    gasUsedRaw: 21_000n,
    baseFeeRaw: 7n,
    difficultyRaw: 0n,
    nonce: '0x0000000000000000',
    extra: '0x6869',
    transactions,
  }
}

/** One WETH for `usd`, in the WETH/USDC pool. */
export const wethSwap = (usd: number, weth = 1n): EvmSwapInput => ({
  pool: WETH_POOL,
  tokenIn: WETH,
  tokenOut: USDC,
  amountInRaw: weth * 10n ** 18n,
  amountOutRaw: weth * BigInt(Math.round(usd * 1e6)),
  reservesRaw: [4_000_000_000_000n, 1_000n * 10n ** 18n],
})

/** Buys coin with one WETH. */
export const tokenSwap = (coins: bigint): EvmSwapInput => ({
  pool: TOKEN_POOL,
  tokenIn: WETH,
  tokenOut: TOKEN,
  amountInRaw: 10n ** 18n,
  amountOutRaw: coins * 10n ** 9n,
  reservesRaw: [5_000n * 10n ** 9n, 50n * 10n ** 18n],
})

export const blockRef = ({ height, hash: at, parentHash, timeMs }: Block): BlockRef => ({
  height,
  hash: at,
  parentHash,
  timeMs,
})

/** A source that hands out a script of operations and then waits; a restarted reader continues behind its position. */
export interface ScriptedSource extends Source {
  push(...ops: readonly ChainOp[]): void
  /** Positions that readers came with. */
  readonly positions: (Position | null)[]
  /** Operations that the newest reader was given. */
  given(): number
}

/** Makes the source; with `ends` it is a recording that ends with its script. */
export const createScriptedSource = (ends = false, gaps = false): ScriptedSource => {
  const script: ChainOp[] = []
  const positions: (Position | null)[] = []
  let given = 0
  let wake = new AbortController()
  return {
    origin: 'hand',
    commitment: 'processed',
    gaps,
    node: null,
    positions,
    given: () => given,
    head: () => null,
    push: (...ops) => {
      script.push(...ops)
      wake.abort()
      wake = new AbortController()
    },
    async *operations(position, signal) {
      positions.push(position)
      given = countSeenOperations(script, position, given)
      while (!signal.aborted) {
        const op = script[given]
        if (op !== undefined) {
          given += 1
          yield op
        } else if (ends) return
        else {
          await sleep(60_000, undefined, { signal: AbortSignal.any([signal, wake.signal]) }).catch(
            () => undefined,
          )
        }
      }
    },
  }
}

/** How many operations of the script a reader with this position has seen: the newest place where both agree. */
const countSeenOperations = (
  script: readonly ChainOp[],
  position: Position | null,
  given: number,
): number => {
  if (position === null) return 0
  const want = `${position.stack.at(-1)?.hash} ${position.final?.hash}`
  const stack: string[] = []
  let final: string | undefined
  let seen = 0
  script.slice(0, given).forEach((op, index) => {
    if (op.op === 'apply') stack.push(op.block.hash)
    else if (op.op === 'revert') stack.pop()
    else final = op.ref.hash
    if (`${stack.at(-1)} ${final}` === want) seen = index + 1
  })
  return seen
}
