import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StateChange } from '../../core/bus/contract.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import type { Delivery } from '../../schemas/wire.ts'
import type { OutboxDelivery } from '../../serving/webhooks/outbox-window.ts'
import { createPendingDeliveries } from '../../serving/webhooks/pending-deliveries.ts'

const NOW = 1_763_640_000_000
const MINUTE = 60_000
const codec = localCodec()

const read = (key: string, offset: number): OutboxDelivery => {
  const delivery: Delivery = {
    message_id: `msg_${key}`,
    endpoint_id: 'ep_1',
    org_id: 'org_1',
    channel: 'sol.token.created',
    body: '{}',
    event_time: NOW,
    queued_at: NOW,
    enabled_at: NOW,
    trigger: 'scheduled',
    attempt: 1,
    due_at: NOW,
  }
  return { key, delivery, bytes: codec.encode('webhook.Delivery', delivery), offset }
}

/** Pending deliveries of a lane over a store; `begin` makes a commit, `land` lets it become durable. */
const openLane = (rows = new Map<string, Uint8Array>()) => {
  const due = createPendingDeliveries({
    codec,
    state: { get: (key) => rows.get(key) },
    partition: 2,
    nowMs: () => NOW,
  })
  let changes: readonly StateChange[] = []
  const begin = (added: readonly StateChange[] = []) => {
    const { state = [], next = [] } = due.part()
    changes = [...added, ...state]
    const puts = changes.map(({ key, value }) => (value ? key : `-${key}`))
    return { puts, offset: next[0]?.offset }
  }
  const land = (): void => {
    for (const { key, value } of changes) {
      if (value) rows.set(key, value)
      else rows.delete(key)
    }
    due.durable()
  }
  return { due, rows, begin, land }
}

test('a webhook delivery that ends soon needs no row: a commit moves the offset behind the last one that ended and stores those before it', () => {
  const { due, rows, begin, land } = openLane()
  for (const [at, key] of ['a', 'b', 'c', 'd'].entries()) due.add(read(key, 10 + at), NOW)
  assert.deepEqual(begin(), { puts: [], offset: undefined }, 'nothing ended: nothing to commit')
  land()
  for (const key of ['a', 'b', 'c']) assert.equal(due.take(key)?.message_id, `msg_${key}`)
  assert.deepEqual([due.end('a', null), due.end('c', null)], [[], []])
  assert.deepEqual(begin(), { puts: ['b'], offset: 13 }, 'd comes again after a crash, b is stored')
  assert.deepEqual(
    [due.has('a'), due.has('b'), due.has('c'), due.has('d')],
    [false, true, false, true],
  )
  const removal = due.end('b', null)
  land()
  assert.deepEqual(begin(removal), { puts: ['-b'], offset: undefined })
  land()
  assert.deepEqual([rows.size, due.has('b')], [0, false], 'b ended while its row was written')
  due.take('d')
  due.end('d', null)
  assert.deepEqual(begin(), { puts: [], offset: 14 })
})

test('a webhook delivery is readable while its row is on the way to the store, and afterwards', () => {
  const { due, rows, begin, land } = openLane()
  for (const [at, key] of ['waits', 'tried', 'last'].entries()) due.add(read(key, at), NOW)
  assert.ok(due.take('tried'))
  due.end('last', null)
  begin()
  assert.equal(rows.size, 0)
  assert.equal(due.take('waits')?.message_id, 'msg_waits', 'the commit is not durable yet')
  assert.equal(due.take('tried')?.message_id, 'msg_tried')
  land()
  assert.equal(due.take('waits')?.message_id, 'msg_waits')
  rows.delete('waits')
  rows.delete('tried')
  assert.deepEqual([due.take('waits'), due.take('tried')], [undefined, undefined], 'ended')
  assert.deepEqual([due.has('waits'), due.has('tried')], [false, false])
})

test('the next attempt of a webhook delivery is stored, and pending before that is durable', () => {
  const { due, rows, begin, land } = openLane()
  due.add(read('a', 0), NOW)
  due.take('a')
  const changes = due.end('a', read('a', 0).bytes)
  assert.ok(due.has('a'))
  assert.deepEqual(begin(changes), { puts: ['a'], offset: 1 })
  assert.ok(due.has('a'), 'while the commit is written')
  land()
  assert.deepEqual([rows.size, due.has('a')], [1, true])
  assert.deepEqual(begin(due.end('a', null)), { puts: ['-a'], offset: undefined })
  land()
  assert.ok(!due.has('a'))
})

test('records that need no delivery move the offset; what does not end is stored after a while, and when the window is full', () => {
  const { due, rows, begin, land } = openLane()
  due.pass(4)
  assert.deepEqual(begin(), { puts: [], offset: 5 })
  due.add(read('slow', 5), NOW)
  assert.ok(!due.storeOld(NOW + 200))
  due.add(read('new', 6), NOW + 200)
  assert.deepEqual([due.storeOld(NOW + 400), due.storeOld(NOW + 400)], [true, false], 'once')
  assert.deepEqual(begin(), { puts: ['slow', 'new'], offset: 7 })
  land()
  assert.deepEqual([rows.size, due.storeOld(NOW + MINUTE)], [2, false])
  for (let at = 0; at < 1_024; at += 1) {
    assert.ok(!due.isFull())
    due.add(read(`key${at}`, 7 + at), NOW)
  }
  assert.ok(due.isFull())
  due.end('key1000', null)
  assert.equal(begin().puts.length, 1_000)
  assert.ok(!due.isFull())
})

test('a stored webhook delivery is cached once until its turn, for a while; the others are read from the store', () => {
  const { due, rows, begin, land } = openLane()
  const all = Array.from({ length: 3_000 }, (_, at) => read(`key${at}`, at))
  for (const each of all) due.add(each, NOW)
  due.storeOld(NOW + MINUTE)
  begin()
  land()
  const taken = due.takeAll([...all.map(({ key }) => key), 'ended'])
  assert.deepEqual(
    taken,
    all.map(({ key, delivery }) => ({ key, delivery })),
  )
  const isCached = ({ delivery }: { readonly delivery: Delivery }, at: number): boolean =>
    delivery === all[at]?.delivery
  assert.equal(taken.filter(isCached).length, 2_048)
  const [first] = due.takeAll(['key0'])
  assert.notEqual(first?.delivery, all[0]?.delivery, 'from the store now')
  assert.deepEqual(first?.delivery, all[0]?.delivery)
  const late = read('late', 5_000)
  due.add(late, NOW)
  due.storeOld(NOW + MINUTE)
  begin()
  land()
  due.evictExpired(NOW + MINUTE)
  assert.notEqual(due.take('late'), late.delivery)
  rows.delete('late')
  assert.equal(due.take('late'), undefined)
})
