import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bus } from '../../core/bus/contract.ts'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { followPoolsWhenReadable } from '../../serving/dex/follow-pools.ts'
import type { PoolBook } from '../../serving/dex/pool-book.ts'
import { createPoolProgress } from '../../serving/dex/pool-progress.ts'
import { until } from '../support/until.ts'

test('pool following starts once the store answers; an outage at the start is retried', async () => {
  let asked = 0
  let [tails, ended, loaded] = [0, 0, 0]
  const warehouse = {
    query: async () => {
      asked += 1
      if (asked === 1) throw new Outage('warehouse', 'the store is away')
      return { rows: [], rowsRead: 0, elapsedMs: 0 }
    },
  }
  const bus = {
    tail: async () => {
      tails += 1
      return {
        stop: async () => {
          ended += 1
        },
      }
    },
    ends: async () => [],
  }
  const book = {
    load: () => {
      loaded += 1
    },
  }
  const running = followPoolsWhenReadable({
    chain: 'eth',
    protocols: ['uniswap_v2'],
    codec: localCodec(),
    log: makeSilentLogger(),
    bus: bus as unknown as Bus,
    warehouse: warehouse as unknown as Warehouse,
    pools: book as unknown as PoolBook,
    progress: createPoolProgress(),
  })
  await until(() => loaded === 1, 'the tables are read')
  assert.deepEqual([tails, ended], [2, 1])
  await running.stop()
  assert.deepEqual([tails, ended], [2, 2])
})
