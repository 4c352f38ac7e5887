import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { deadLetterPrices, type RetryNodeConfig } from '../../cli/app/dead-letter-prices.ts'
import { replayDeadLetters } from '../../cli/app/dead-letters.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { deadLetterSpec } from '../../core/bus/topic-specs.ts'
import { SecretUrl } from '../../core/config/secret.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { blockDeadLetters, ingestDlqTopic } from '../../ingestors/dead-letters/dead-letters.ts'
import { wordOf } from '../../ingestors/evm/abi/words.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import {
  addressTopic,
  buildDecodeContext,
  buildPoolMetadata,
  USER,
} from '../support/builders/dex-logs.ts'
import { startReplicaNode } from '../support/nodes/lagging-replicas.ts'
import { buildLog, buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'

const MANAGER = '0x000000000004444c5dc75cb358380d2e3de08a90'
const MODIFY = '0xf208f4912782fd25c7f114ca3723a2d5dd6f3bcc3ac8db5af63baa85f711d5ec'
const ID = `0x${'4d'.repeat(32)}`
const PRICE = 79228162514264337593543950336n

test('a position dropped for an unknown pool price is decoded again with the price of a node', async (t) => {
  const path = mkdtempSync(join(tmpdir(), 'letter-prices-'))
  const node = await startReplicaNode(1, () => ({ head: 40, final: 30, branchOf: () => 'a' }))
  const log = makeSilentLogger()
  const bus = await openEmbeddedBus({ path, mapSizeBytes: 64 << 20, log, retention: 'off' })
  t.after(async () => {
    await bus.close()
    await node.stop()
    rmSync(path, { recursive: true, force: true })
  })
  const block = buildSingleTransactionBlock([
    buildLog(MANAGER, [MODIFY, ID, addressTopic(USER)], [-60n, 60n, 10n ** 18n, ID]),
  ])
  const books = buildDecodeContext('facts', [{ ...buildPoolMetadata('uniswap_v4'), address: ID }])
  const { dropped } = decodeBlock(block, books)
  assert.deepEqual(
    dropped.map(({ reason }) => reason),
    ['unknown-price'],
  )
  await bus.createTopics([deadLetterSpec(ingestDlqTopic('eth'), 'off')])
  const writer = await bus.writer('tests')
  const records = blockDeadLetters(block, {
    dropped,
    unread: [],
    rejectedResponses: [],
    context: books,
  })
  await writer.commit({ records })
  await writer.close()

  const config: RetryNodeConfig = {
    chains: ['eth'],
    chainRpcUrls: { eth: [new SecretUrl(node.url)] },
    rpcUrls: [],
    chainExtra: {},
    feeds: [],
    rpcConcurrency: 4,
    rpcPerSecond: 0,
    rpcTimeoutMs: 1_000,
  }
  const pricesOf = (chain: string) => deadLetterPrices(chain, config)
  const outcomes = async (asks: boolean): Promise<readonly string[]> => {
    const { rerun } = await replayDeadLetters({ bus, limit: 10, ...(asks && { pricesOf }) })
    return rerun.map(({ result: { outcome, detail } }) => `${outcome}: ${detail}`)
  }
  assert.deepEqual(await outcomes(false), ['failed-again: unknown-price'])
  assert.deepEqual(
    await outcomes(true),
    ['failed-again: unknown-price'],
    'the node does not know it',
  )
  const asked: unknown[] = []
  node.call = ([call, at]) => {
    asked.push(call, at)
    return `0x${wordOf(PRICE)}`
  }
  assert.deepEqual(await outcomes(true), ['decodes-now: 1 poolChanges'])
  assert.deepEqual(asked[1], { blockHash: block.parentHash }, 'as it was before the block')
  await node.stop()
  assert.deepEqual(await outcomes(true), ['failed-again: unknown-price'], 'no node answers')
})
