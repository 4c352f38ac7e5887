/** The recorded Solana transactions as the plain fold sees them: what each holds is `expected-sol.json`. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import {
  solanaExpectations,
  solanaRecordingNames,
  solanaRecordingPath,
} from '../recordings/solana.ts'
import { type BruteSwap, bruteTrades } from './trades-and-candles.ts'

/** Wrapped SOL. */
export const SOL = 'So11111111111111111111111111111111111111112'
const STABLES = [
  'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', // USDC
  'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', // USDT
  'USD1ttGY1N17NEEHLmELoaybftRBUSErhqYiQzvEmuB', // USD1
]
/** What the run is told a SOL costs: recorded transactions are months apart and have no price of their own. */
export const SOL_USD = 150
/** This recording says neither its slot nor its time; the run puts it here. */
const FILE_WITHOUT_SLOT = { file: 'pumpfun_create_from_blocksubscribe.json', slot: 415_597_203 }
const ASSUMED_BLOCK_TIME = 1_777_132_866
/** Quoted in a token that has no price here, and one that sells SOL itself, of which wallets have no positions. */
const EXCLUDED_FILES: ReadonlySet<string> = new Set([
  'swap_mintech_1.json',
  'rotki_58F9fNP78F.json',
])

/** Recordings that are folded. */
export const includedRecordings = (): readonly string[] =>
  solanaRecordingNames().filter((name) => !EXCLUDED_FILES.has(name))

interface TokenBalance {
  readonly mint: string
  readonly owner?: string
  readonly uiTokenAmount: { readonly amount: string; readonly decimals: number }
}
interface RawTransaction {
  readonly slot?: number
  readonly blockTime?: number | null
  readonly meta: {
    readonly preTokenBalances?: readonly TokenBalance[]
    readonly postTokenBalances?: readonly TokenBalance[]
  }
}
interface RawFile {
  readonly signature: string
  readonly getTransaction?: RawTransaction
  readonly getTransactionJson?: RawTransaction
}

/** Text of a recorded file, with a place where the recording has none. */
export const readRecording = (path: string): string => {
  const text = readFileSync(path, 'utf8')
  if (!path.endsWith(FILE_WITHOUT_SLOT.file)) return text
  const file = JSON.parse(text)
  for (const name of ['getTransaction', 'getTransactionJson']) {
    if (file[name])
      Object.assign(file[name], { slot: FILE_WITHOUT_SLOT.slot, blockTime: ASSUMED_BLOCK_TIME })
  }
  return JSON.stringify(file)
}

interface Recording extends RawTransaction {
  readonly name: string
  readonly signature: string
}

/** Recordings that have a time, and so a place in a chain, oldest first. */
export const recordings: readonly Recording[] = includedRecordings()
  .map((name) => {
    const { signature, getTransaction, getTransactionJson } = JSON.parse(
      readRecording(solanaRecordingPath(name)),
    ) as RawFile
    const raw = getTransaction ?? getTransactionJson
    assert.ok(raw, name)
    return { ...raw, name, signature }
  })
  .filter(({ blockTime }) => typeof blockTime === 'number')
  .sort((a, b) => (a.slot ?? 0) - (b.slot ?? 0) || (a.signature < b.signature ? -1 : 1))

const expected = solanaExpectations()

/** The order of a place like `2` or `2.10`. */
export const instructionOrder = (path: string): number => {
  const [outer = 0, inner = -1] = path.split('.').map(Number)
  return outer * 1_000 + inner + 1
}

const swaps: readonly BruteSwap[] = recordings.flatMap(({ name, signature, slot, blockTime }) =>
  (expected[name]?.trades ?? []).map((trade) => ({
    height: slot ?? 0,
    timeMs: (blockTime ?? 0) * 1_000,
    txHash: signature,
    logIndex: instructionOrder(trade.path),
    pool: trade.pool ?? '',
    trader: trade.trader,
    tokenIn: trade.tokenIn,
    tokenOut: trade.tokenOut,
    amountIn: BigInt(trade.amountIn),
    amountOut: BigInt(trade.amountOut),
  })),
)
/** Decimals by token, as the recorded balances tell. */
export const decimals = new Map([
  [SOL, 9],
  ...recordings.flatMap(({ meta }) =>
    [...(meta.preTokenBalances ?? []), ...(meta.postTokenBalances ?? [])].map(
      ({ mint, uiTokenAmount }) => [mint, uiTokenAmount.decimals] as const,
    ),
  ),
])
/** The recorded trades with their prices, in chain order. */
export const bruteRecordedTrades = bruteTrades(swaps, {
  decimals,
  ranks: new Map([...STABLES.map((token) => [token, 3] as const), [SOL, 2]]),
  native: SOL,
  fixedUsd: new Map([[SOL, SOL_USD]]),
})
/** Tokens that the recordings create. */
export const createdTokens = recordings.flatMap(({ name }) => expected[name]?.created ?? [])
/** Tokens that the recordings migrate. */
export const migratedTokens = recordings.flatMap(({ name }) => expected[name]?.migrated ?? [])
