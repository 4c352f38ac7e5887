import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { evmSource } from '../../ingestors/evm/source/evm-source.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { TradeEvents } from '../../schemas/wire.ts'
import { type AppStack, startAppStack } from '../support/app-stack.ts'
import { evmReplayChain } from '../support/replay/evm-chain.ts'
import {
  buildFlashblocks,
  type FlashblocksServer,
  startFlashblocksServer,
} from '../support/replay/flashblocks-server.ts'
import { type ReplayNode, startReplayNode } from '../support/replay/json-rpc-node.ts'
import { until } from '../support/until.ts'

const RECORDING = 'base/block_2000000.json'
const HEAD = 1_999_999
const BASE = { ...CHAINS.base, blockTimeMs: 200 }

describe('metadata of pools that only a flashblock has named', () => {
  const stop = new AbortController()
  let node: ReplayNode
  let server: FlashblocksServer
  let product: AppStack

  before(async () => {
    const chain = evmReplayChain({ ...BASE, chainId: 8_453 }, { genesisMs: 0 })
    node = await startReplayNode({ chain, head: HEAD, finalityDepth: 10, lateMs: 4_000 })
    server = await startFlashblocksServer()
    const source = await evmSource({
      chain: { ...BASE, chainId: 8_453 },
      urls: [node.url],
      concurrency: 16,
      timeoutMs: 1_000,
      from: null,
      metrics: makeMetrics(),
      log: makeSilentLogger(),
      signal: stop.signal,
    })
    product = await startAppStack({
      chain: { row: BASE, source },
      overrides: { flashblocksUrlBase: server.url },
    })
    const [ingestor] = product.app.ingestors
    await until(() => ingestor?.status().height === HEAD, 'the chain is there')
    await until(() => server.listening() === 1, 'the stream is listened to')
  })
  after(async () => {
    await product.stop()
    stop.abort()
    await server.stop()
    await node.stop()
  })

  const say = (payloadId: string, height = HEAD + 1): void => {
    const parts = { payloadId, height, parts: 3 }
    for (const frame of buildFlashblocks(RECORDING, parts)) server.say(frame)
  }
  /** Trades by transaction: a replayed block has its own hashes, what happened in it is the recording's. */
  const tradesOf = async (topic: string, hash: string | undefined): Promise<readonly unknown[]> => {
    const records: readonly TradeEvents[] = await product.topic(topic, 'dex.trade.TradeEvents')
    return records
      .filter(({ meta }) => meta?.height === HEAD + 1 && (hash ?? meta.hash) === meta.hash)
      .flatMap(({ events }) => events)
      .map(({ trade, transaction, instruction, d_app }) => ({
        ...trade,
        tx: transaction?.index,
        log: instruction?.log_index,
        factory: d_app?.program_address,
      }))
      .sort((one, other) => (one.log ?? 0) - (other.log ?? 0))
  }

  test('is not awaited longer than a block takes', async () => {
    const late = '0x00000000000000aa'
    node.faults = (method) => (method === 'eth_call' ? 'late' : undefined)
    say(late)
    const refused = async (): Promise<boolean> => {
      const { values } = await product.metrics.ingestDropped.get()
      return values.some(({ labels }) => labels.reason === 'late-facts')
    }
    await until(refused, 'it is given up')
    assert.deepEqual(await tradesOf('base.dex.trades.pending', late), [])
    node.faults = () => undefined
  })

  test('comes from the node, and the trades equal those of the block itself', async () => {
    const [id, behind] = ['0x00000000000000bb', '0x00000000000000cc']
    say(id)
    say(behind, HEAD + 2)
    const hasRead = async (): Promise<boolean> => {
      const records = await product.topic('base.dex.trades.pending', 'dex.trade.TradeEvents')
      return records.some(({ meta }) => meta?.hash === behind)
    }
    await until(hasRead, 'all parts before were read')
    const [ingestor] = product.app.ingestors
    node.produce()
    await until(() => ingestor?.status().height === HEAD + 1, 'the block came')
    const settled = await tradesOf('base.dex.trades', undefined)
    assert.ok(settled.length >= 5)
    assert.deepEqual(await tradesOf('base.dex.trades.pending', id), settled)
  })
})
