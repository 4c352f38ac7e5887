import { bareReadSeconds } from './bare-read.ts'
import { type Found, prepareChain } from './chain.ts'
import { installPonder, runPonder } from './ponder.ts'
import { runSluice } from './sluice.ts'

const SIZE = { blocks: 200, swapsPerBlock: 50, transfersPerBlock: 25 } as const
/** Lists the node so often that Ponder's own limit of calls per second holds nothing up. */
const MANY_NODES = 25
/** Of a price: both divide doubles, in different orders. */
const PRICE_TOLERANCE = 1e-9

const rounded = (value: number, places = 2): number => Number(value.toFixed(places))

const sameAs = (truth: Found, found: Found, who: string): void => {
  const isSame =
    found.swaps === truth.swaps &&
    found.transfers === truth.transfers &&
    found.balanceRaw === truth.balanceRaw &&
    Math.abs(found.price / truth.price - 1) < PRICE_TOLERANCE
  if (isSame) return
  throw new Error(`${who} found ${JSON.stringify(found)}, the chain has ${JSON.stringify(truth)}`)
}

/**
 * Ponder and the product read the same blocks from one anvil, one after the other; what they find is checked against the node's
 * own logs and state. Ponder runs twice: as it comes, and without its limit of calls per second.
 */
export const versusBench = async (): Promise<void> => {
  installPonder()
  const chain = await prepareChain(SIZE)
  try {
    const { truth } = chain
    const bareSeconds = await bareReadSeconds(chain)
    const ponder = await runPonder(chain, MANY_NODES)
    sameAs(truth, ponder.found, 'Ponder')
    const sluice = await runSluice(chain)
    sameAs(truth, sluice.found, 'Sluice')
    const limited = await runPonder(chain, 1)
    sameAs(truth, limited.found, 'Ponder with its limit')
    // Swaps log Sync as well, which both take.
    const events = 2 * truth.swaps + truth.transfers
    const perSecond = (seconds: number): number => Math.round(events / seconds)
    const row = {
      bench: 'versus',
      node: process.version,
      blocks: SIZE.blocks,
      swaps: truth.swaps,
      transfers: truth.transfers,
      ponderSeconds: rounded(ponder.seconds),
      sluiceSeconds: rounded(sluice.seconds),
      /** Ponder's time divided by ours. */
      ratio: rounded(ponder.seconds / sluice.seconds),
      /** Asking for every whole block and parsing the answers; the ratio of who did nothing else. */
      bareReadSeconds: rounded(bareSeconds),
      ratioAtMost: rounded(ponder.seconds / bareSeconds),
      ponderLimitedSeconds: rounded(limited.seconds),
      ratioLimited: rounded(limited.seconds / sluice.seconds),
      ponderPerSecond: perSecond(ponder.seconds),
      sluicePerSecond: perSecond(sluice.seconds),
      ponderCpuSeconds: rounded(ponder.cpu.product),
      sluiceCpuSeconds: rounded(sluice.cpu.product),
      /** Of processor time: other work on the machine moves it less. */
      cpuRatio: rounded(ponder.cpu.product / sluice.cpu.product),
      nodeCpuSeconds: [rounded(ponder.cpu.node), rounded(sluice.cpu.node)],
      otherCpuSeconds: [rounded(ponder.cpu.others), rounded(sluice.cpu.others)],
      bare: 'Ponder 0.16.10 with PGlite: rows of swaps and transfers, balances, reserves; limited = its own 20 calls/s',
      more: 'Sluice besides: log with reorgs, USD prices, candles, statistics, pools, holders, profits, streams; its time ends when all of that is stored',
    }
    console.log(JSON.stringify(row))
  } finally {
    await chain.anvil.stop()
  }
}
