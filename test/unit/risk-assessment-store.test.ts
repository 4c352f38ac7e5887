import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { makeRecordSigner } from '../../core/security/record-signature.ts'
import type { AssessmentRequest } from '../../serving/risk/assessment.ts'
import { type AssessmentStore, openAssessmentStore } from '../../serving/risk/assessment-store.ts'
import { withTempFolder } from '../support/temp-folder.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const request = (n: number): AssessmentRequest => ({
  kind: 'address',
  address: `0x${n.toString(16).padStart(40, '0')}`,
  chains: ['eth'],
})
const RESULT_CHARACTERS = 150_000
const resultOf = (n: number): string =>
  `${n} `.repeat(RESULT_CHARACTERS).slice(0, RESULT_CHARACTERS)

/** Stores on one log, each with the bound of bytes that it is opened with. */
const withStores = (
  run: (
    open: (maxResultBytes?: number, chains?: readonly string[]) => Promise<AssessmentStore>,
  ) => Promise<void>,
): Promise<void> =>
  withTempFolder(async (path) => {
    const log = makeSilentLogger()
    const bus = await openEmbeddedBus({ path, mapSizeBytes: 256 << 20, log, retention: 'off' })
    await bus.createTopics(topicSpecs({ chains: [], partitions: 1, retention: 'off' }))
    const signer = makeRecordSigner('pepper')
    const parts = { bus, codec: localCodec(), nowMs: Date.now, log, signer, metrics: makeMetrics() }
    const stores: AssessmentStore[] = []
    const open = async (
      maxResultBytes?: number,
      chains: readonly string[] = ['eth'],
    ): Promise<AssessmentStore> => {
      const store = await openAssessmentStore({
        ...parts,
        chains,
        ...(maxResultBytes !== undefined && { maxResultBytes }),
      })
      stores.push(store)
      return store
    }
    try {
      await run(open)
    } finally {
      for (const store of stores) await store.stop()
      await bus.close()
    }
  })

const fill = async (store: AssessmentStore, count: number): Promise<readonly string[]> => {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const record = await store.register('a', request(n))
    await store.change(record, (known) => ({ ...known, status: 'COMPLETE', result: resultOf(n) }))
    ids.push(record.id)
  }
  return ids
}

test('results beyond the bound of memory are read back from the log, by a store that is opened later as well', async () => {
  await withStores(async (open) => {
    const writing = await open(3 * 2 * RESULT_CHARACTERS)
    const ids = await fill(writing, 8)
    await writing.change({ ...(await writing.register('a', request(0))) }, (known) => ({
      ...known,
      next_at: 5,
    }))
    for (const store of [writing, await open(1), await open()]) {
      for (const [n, id] of ids.entries()) {
        const record = await store.read('a', id)
        assert.deepEqual([record?.status, record?.result === resultOf(n)], ['COMPLETE', true])
      }
      assert.equal((await store.read('a', ids[0] ?? ''))?.next_at, 5)
      assert.equal(await store.read('b', ids[0] ?? ''), undefined)
      const pending = await store.register('a', request(99))
      assert.equal((await store.read('a', pending.id))?.result, null)
    }
  })
})

test('the memory of results is bounded', async () => {
  await withStores(async (open) => {
    const store = await open(1 << 20)
    await fill(store, 10)
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    await fill(store, 250)
    collectGarbage()
    const grownBytes = process.memoryUsage().heapUsed - before
    assert.ok(grownBytes < 8 << 20, `${grownBytes} bytes for 250 results of ${RESULT_CHARACTERS}`)
  })
})

test('look-alikes of withdrawals are those of the log, also of a store that is opened later', async () => {
  await withStores(async (open) => {
    const store = await open()
    const withdrawal = (middle: string): AssessmentRequest => ({
      kind: 'withdrawal',
      network: 'ethereum',
      chain: 'eth',
      asset: 'ETH',
      address: `0xabcd${middle.repeat(32)}ef01`,
      assetAmount: '1',
      attemptTimestamp: '1700000000',
      assetPrice: null,
      assetDenomination: null,
      assetId: null,
      memo: null,
    })
    const [known, broken, fake] = ['1', '2', '3'].map(withdrawal)
    assert.ok(known?.kind === 'withdrawal' && fake?.kind === 'withdrawal' && broken !== undefined)
    const first = await store.register('a', known)
    await store.register('b', known)
    const unreadable = await store.register('a', broken)
    await store.change(unreadable, (each) => ({ ...each, request: '{' }))
    await store.change(first, (each) => ({ ...each, status: 'COMPLETE', result: '{}' }))
    const asked = { ...(await store.register('a', fake)), created_at: Date.now() + 1 }
    for (const each of [store, await open()]) {
      assert.deepEqual(each.lookAlikesOf(asked, fake), [known.address])
      assert.deepEqual(each.lookAlikesOf({ ...asked, org_id: 'c' }, fake), [])
    }
  })
})

const HOUR_MS = 3_600_000

test('addresses that were not judged on an enabled chain are due, organizations in turn, an hour after they were screened', async () => {
  await withStores(async (open) => {
    const before = await open()
    const nowMs = Date.now()
    const farMs = nowMs + 30 * 24 * HOUR_MS
    const finish = async (orgId: string, n: number, updated_at: number): Promise<string> => {
      const record = await before.register(orgId, request(n))
      await before.change(record, (known) => {
        const times = { updated_at, next_at: farMs }
        return { ...known, ...times, status: 'COMPLETE', result: '{"level":"Low"}' }
      })
      return record.id
    }
    const old = [
      await finish('a', 1, nowMs - 3 * HOUR_MS),
      await finish('a', 2, nowMs - 2 * HOUR_MS),
      await finish('b', 3, nowMs - 2 * HOUR_MS),
    ]
    const young = await finish('a', 4, nowMs)
    const take = (store: AssessmentStore, atMs: number): readonly (string | undefined)[] =>
      Array.from({ length: 4 }, () => store.takeDue(0, atMs)?.id)
    for (const chains of [['eth'], [], ['sol'], ['eth', 'sol']]) {
      const none = [undefined, undefined, undefined, undefined]
      assert.deepEqual(take(await open(undefined, chains), farMs - 1), none, chains.join())
    }
    const after = await open(undefined, ['eth', 'base'])
    assert.deepEqual(take(after, nowMs), [old[0], old[2], old[1], undefined])
    assert.equal(after.takeDue(0, nowMs + HOUR_MS - 1), undefined)
    assert.equal(after.takeDue(0, nowMs + HOUR_MS)?.id, young)
    const [id = ''] = old
    const screened = after.get('a', id)
    assert.ok(screened)
    await after.change(screened, (known) => ({
      ...known,
      request: JSON.stringify({ ...request(1), chains: ['eth', 'base'] }),
    }))
    assert.equal(after.takeDue(0, farMs - 1), undefined, 'it was judged on all of them')
  })
})
