import type { DecodeContext } from '../ingestors/decode/contract.ts'
import { PROGRAM_IDS } from '../ingestors/svm/programs/programs.ts'
import { decodeBlock } from '../ingestors/vm/decode-block.ts'
import { CHAINS } from '../schemas/chains.ts'
import type { SvmBlock, SvmInstruction, SvmTransaction, Swap } from '../schemas/events.ts'
import { buildSvmBlock } from '../test/support/builders/svm-block.ts'
import {
  recordedSolanaTransaction,
  solanaDecodeContext,
  solanaRecordingNames,
} from '../test/support/recordings/solana.ts'
import { quantile } from './quantile.ts'

const WSOL = CHAINS.sol.wrappedNative
const ROUNDS = 200
/** A busy block of mainnet holds about this many transactions that are not votes. */
const BLOCK_TRANSACTIONS = 1_200
/** Short samples: a busy machine takes the processor away from long ones only. */
const SAMPLE_TRANSACTIONS = 120

const blockOf = (transactions: readonly SvmTransaction[], length: number): SvmBlock =>
  buildSvmBlock(
    Array.from({ length }, (_, index) => ({
      ...(transactions[index % transactions.length] as SvmTransaction),
      index,
    })),
  )

/** Nothing but the programs that tell their trades as events. */
const onlyTrades = (tx: SvmTransaction): SvmTransaction => ({
  ...tx,
  instructions: tx.instructions.filter(
    ({ program }) => program === PROGRAM_IDS.pumpFun || program === PROGRAM_IDS.pumpSwap,
  ),
  tokenBalances: [],
  lamports: [],
})

type BareTrade = Omit<Swap, 'kind' | 'txIndex' | 'path' | 'protocol'>

const callerOf = (list: readonly SvmInstruction[], at: number): SvmInstruction | undefined => {
  const depth = (list[at]?.depth ?? 0) - 1
  for (let before = at - 1; before >= 0; before -= 1) {
    if (list[before]?.depth === depth) return list[before]
  }
  return undefined
}

const bareCurve = (view: DataView, at: number, accounts: readonly string[]): BareTrade => {
  const buys = view.getUint8(64) === 1
  const sol = view.getBigUint64(48, true)
  const tokens = view.getBigUint64(56, true)
  const virtualQuoteRaw = view.getBigUint64(105, true)
  const virtualTokenRaw = view.getBigUint64(113, true)
  const realQuoteRaw = view.getBigUint64(121, true)
  const realTokenRaw = view.getBigUint64(129, true)
  const [, , mint = '', pool = '', vault = '', holding = '', user = ''] = accounts
  return {
    logIndex: at,
    pool,
    trader: user,
    tokenIn: buys ? WSOL : mint,
    tokenOut: buys ? mint : WSOL,
    amountInRaw: buys ? sol : tokens,
    amountOutRaw: buys ? tokens : sol,
    reservesInOut: buys ? [realQuoteRaw, realTokenRaw] : [realTokenRaw, realQuoteRaw],
    curve: { virtualQuoteRaw, virtualTokenRaw, realQuoteRaw, realTokenRaw },
    accounts: buys
      ? { userIn: user, userOut: holding, vaultIn: pool, vaultOut: vault }
      : { userIn: holding, userOut: user, vaultIn: vault, vaultOut: pool },
  }
}

const barePool = (view: DataView, at: number, accounts: readonly string[]): BareTrade => {
  const buys = view.getUint32(8) === 0x67f4521f
  const baseRaw = view.getBigUint64(24, true)
  const quoteRaw = view.getBigUint64(120, true)
  const poolBaseRaw = view.getBigUint64(56, true)
  const poolQuoteRaw = view.getBigUint64(64, true)
  const movedRaw = view.getBigUint64(112, true)
  const [pool = '', user = '', , base = '', quote = '', one = '', two = ''] = accounts
  const [baseVault = '', quoteVault = ''] = [accounts[7], accounts[8]]
  return {
    logIndex: at,
    pool,
    trader: user,
    tokenIn: buys ? quote : base,
    tokenOut: buys ? base : quote,
    amountInRaw: buys ? quoteRaw : baseRaw,
    amountOutRaw: buys ? baseRaw : quoteRaw,
    reservesInOut: buys
      ? [poolQuoteRaw + movedRaw, poolBaseRaw - baseRaw]
      : [poolBaseRaw + baseRaw, poolQuoteRaw - movedRaw],
    reservesBeforeInOut: buys ? [poolQuoteRaw, poolBaseRaw] : [poolBaseRaw, poolQuoteRaw],
    accounts: buys
      ? { userIn: two, userOut: one, vaultIn: quoteVault, vaultOut: baseVault }
      : { userIn: one, userOut: two, vaultIn: baseVault, vaultOut: quoteVault },
  }
}

/** Finds the tags of three events and slices the same fields: no table, no forms, no pools, no checks, no other layouts. */
const bareTrade = (list: readonly SvmInstruction[], at: number): BareTrade | undefined => {
  const data = list[at]?.data
  if (!data || data.length < 264) return undefined
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  if (view.getUint32(0) !== 0xe445a52e || view.getUint32(4) !== 0x51cb9a1d) return undefined
  const tag = view.getUint32(8)
  const curve = tag === 0xbddb7fd3
  if (!curve && tag !== 0x67f4521f && tag !== 0x3e2f370a) return undefined
  const { accounts } = callerOf(list, at) ?? { accounts: [] }
  return curve ? bareCurve(view, at, accounts) : barePool(view, at, accounts)
}

const bareBlock = ({ transactions }: SvmBlock): readonly BareTrade[] => {
  const trades: BareTrade[] = []
  for (const { instructions } of transactions) {
    for (let at = 0; at < instructions.length; at += 1) {
      const trade = bareTrade(instructions, at)
      if (trade) trades.push(trade)
    }
  }
  return trades
}

const elapsedMs = (work: () => void): number => {
  const start = process.hrtime.bigint()
  work()
  return Number(process.hrtime.bigint() - start) / 1e6
}

const rounded = (value: number): number => Number(value.toPrecision(4))

/**
 * Prints one JSON line: trades per second of Pump.fun and PumpSwap through the whole decoder and through a bare one, in turns
 * over the same recorded events; a sample is a small block of them. `blockP50Ms` is a block of 1,200 recorded transactions with all
 * that they hold: transfers, balances, supplies, pools.
 */
export const decodeSolBench = (): void => {
  const recorded = solanaRecordingNames()
    .map(recordedSolanaTransaction)
    .filter(({ success }) => success)
  const trading = recorded.map(onlyTrades)
  const books = solanaDecodeContext()
  const alone = trading.filter((tx) => {
    const { swaps: found, tokenCreations: births } = decodeBlock(buildSvmBlock([tx]), books)
    return found.length > 0 && births.length === 0
  })
  const fixture = blockOf(alone, SAMPLE_TRANSACTIONS)
  const facts = new Map(decodeBlock(fixture, books).pools.map((fact) => [fact.address, fact]))
  const known: DecodeContext = { ...books, pool: (address) => facts.get(address) }
  const whole = blockOf(recorded, BLOCK_TRANSACTIONS)
  const [ours, bare, block]: [number[], number[], number[]] = [[], [], []]
  let swaps = 0
  for (let round = -ROUNDS / 4; round < ROUNDS; round += 1) {
    const oursMs = elapsedMs(() => {
      swaps = decodeBlock(fixture, known).swaps.length
    })
    const bareMs = elapsedMs(() => {
      if (bareBlock(fixture).length !== swaps) throw new Error('both decoders find the same trades')
    })
    const blockMs = elapsedMs(() => {
      decodeBlock(whole, known)
    })
    if (round < 0) continue
    ours.push(oursMs)
    bare.push(bareMs)
    block.push(blockMs)
  }
  const perSecond = (swaps / quantile(ours, 0.5)) * 1_000
  const barePerSecond = (swaps / quantile(bare, 0.5)) * 1_000
  const line = {
    bench: 'decode-sol',
    node: process.version,
    perSecond: Math.round(perSecond),
    p50Ms: rounded(quantile(ours, 0.5)),
    p99Ms: rounded(quantile(ours, 0.99)),
    barePerSecond: Math.round(barePerSecond),
    ratio: rounded(perSecond / barePerSecond),
    bare: 'loop over the same instructions: three tags compared, the same fields sliced, one record made',
    blockP50Ms: rounded(quantile(block, 0.5)),
  }
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
