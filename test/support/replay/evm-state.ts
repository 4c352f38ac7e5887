import {
  type ProtocolRegistry,
  protocolRegistry,
} from '../../../ingestors/decode/protocol-registry.ts'
import { recordedBlock } from '../../../ingestors/recorded/files.ts'
import { decodeBlock } from '../../../ingestors/vm/decode-block.ts'
import type { Swap } from '../../../schemas/events.ts'
import { protocolRow } from '../../../schemas/protocols.ts'
import type { Json, ReplayResponse } from './contract.ts'
import { recordedTransactions } from './recorded-blocks.ts'

/** Selectors of what pools, factories and tokens are asked; `ingestors/evm/verify/by-factory.ts`, `token-calls.ts`. */
const SELECTORS = {
  factory: '0xc45a0155',
  token0: '0x0dfe1681',
  token1: '0xd21220a7',
  fee: '0xddca3f43',
  pair: '0xe6a43905',
  poolOfFee: '0x1698ee82',
  decimals: '0x313ce567',
} as const

interface Pool {
  readonly address: string
  readonly factory: string
  readonly tokens: readonly [string, string]
  /** Not the recorded one, which no event tells: its own, so that pools of one pair differ. */
  readonly fee: number
}

/** What contracts answer: pools of recorded swaps of V2 and V3 say who made them, tokens that they have 18 decimals. */
export const createRecordedState = (
  chain: string,
): ((call: { readonly to: string; readonly data: string }) => ReplayResponse) => {
  const pools = recordedPools(chain)
  const byAddress = new Map(pools.map((pool) => [pool.address, pool]))
  const byQuestion = new Map(
    pools.flatMap(({ address, factory, tokens: [one, two], fee }) => {
      const pair = hexWord(one) + hexWord(two)
      return [
        [factory + SELECTORS.pair + pair, address],
        [factory + SELECTORS.poolOfFee + pair + hexWord(fee), address],
      ] as const
    }),
  )
  return ({ to, data }) => {
    const pool = byAddress.get(to)
    const made = byQuestion.get(to + data)
    if (made !== undefined) return { result: `0x${hexWord(made)}` }
    if (pool !== undefined) {
      if (data === SELECTORS.factory) return { result: `0x${hexWord(pool.factory)}` }
      if (data === SELECTORS.token0) return { result: `0x${hexWord(pool.tokens[0])}` }
      if (data === SELECTORS.token1) return { result: `0x${hexWord(pool.tokens[1])}` }
      if (data === SELECTORS.fee) return { result: `0x${hexWord(pool.fee)}` }
    }
    if (data === SELECTORS.decimals) return { result: `0x${hexWord(18)}` }
    return { error: { code: 3, message: 'execution reverted' } }
  }
}

const hexWord = (value: string | number): string =>
  (typeof value === 'number' ? value.toString(16) : value.slice(2)).padStart(64, '0')

/** Pools of V2 and V3 shape that swapped in the recordings, with the tokens that moved. */
const recordedPools = (chain: string): readonly Pool[] => {
  const protocols = protocolRegistry(chain)
  const swaps = recordedTransactions(chain).flatMap(({ transactions, receipts }) =>
    receipts.flatMap((receipt, index) => {
      const hash = receipt.transactionHash
      return recordedSwaps(chain, protocols, {
        eth_getTransactionByHash: { ...transactions[index], hash },
        eth_getTransactionReceipt: receipt,
      })
    }),
  )
  const pools = new Map<string, Pool>()
  for (const { pool, protocol, tokenIn, tokenOut } of swaps) {
    const family = protocolRow(protocol)?.family
    if (family !== 'uniswap_v2' && family !== 'uniswap_v3') continue
    const maker = protocols
      .protocolsEmitting(family)
      .find(({ row }) => row.id === protocol)?.factory
    const [one, two] = [tokenIn, tokenOut].sort()
    if (!one || !two || maker === undefined) continue
    const address = pool
    pools.set(pool, { address, factory: maker, tokens: [one, two], fee: 100 + pools.size })
  }
  return [...pools.values()]
}

const recordedSwaps = (chain: string, protocols: ProtocolRegistry, file: Json): readonly Swap[] =>
  decodeBlock(recordedBlock(chain, file).block, {
    verification: 'evidence',
    protocols,
    pool: () => undefined,
  }).swaps
