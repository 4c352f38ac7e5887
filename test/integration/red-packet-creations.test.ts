/** A packet's address that is used again: each creation keeps its own claims and refunds, also where a reorg takes one back. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { migrate } from '../../core/clickhouse/migrate.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { HEAD_MS } from '../support/paged-lists.ts'

const PACKET = 'So11111111111111111111111111111111111111112'
const OTHER = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const CREATOR = '4Nd1mYQZ3vJk7V9W7hZ6m1v5o4Xq3cQ9r2LxkT8sYbUe'
const CLAIMER = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin'
const SHARE_ID = '7TqVxm3Kfa'
const TABLES = [
  ...['sol_redpackets', 'sol_redpacket_creations'],
  ...['sol_redpacket_claims', 'sol_redpacket_refunds'],
]

let api: TestApi
before(async () => {
  api = await startApi({ chains: ['eth', 'sol'] })
})
after(() => api.stop())
beforeEach(async () => {
  for (const table of TABLES) await api.warehouse.command(`TRUNCATE TABLE ${table}`)
})

/** An event of slot `n`, `n` minutes before the head's, and its version; `_del` 1: a reorg took it back. */
const event = (n: number, _ver: number, _del = 0) => ({
  block_time: HEAD_MS - (100 - n) * 60_000,
  block_slot: n,
  block_height: n,
  block_hash: `h${n}`,
  tx_hash: `tx${n}`,
  event_index: 0,
  packet_id: PACKET,
  share_id: SHARE_ID,
  _ver,
  _del,
})
const creation = (n: number, fields: object, _ver = n, _del = 0) => ({
  ...event(n, _ver, _del),
  creator: CREATOR,
  max_claims: 9,
  created_at: Date.now(),
  expiration_seconds: 86_400,
  ...fields,
})
const insert = (table: string, ...rows: readonly object[]) => api.warehouse.insert(table, rows)

/** Slot 1: created with 100; 2: 60 claimed; 3: the rest withdrawn. */
const first = async () => {
  await insert('sol_redpackets', creation(1, { total_amount: '100', mint: 'one' }))
  await insert('sol_redpacket_claims', { ...event(2, 2), claimer: CLAIMER, amount: '60' })
  await insert('sol_redpacket_refunds', { ...event(3, 3), amount: '40' })
}
const SECOND = { total_amount: '500', mint: 'two' }

type Body = Readonly<Record<string, unknown>>
interface Page {
  readonly records: readonly Body[]
  readonly total: number
  readonly endCursor: string
}
const read = async <Answer>(path: string): Promise<Answer> => {
  const { status, body, text } = await callApi(api, `/v2/redpacket${path}`)
  assert.equal(status, 200, text)
  return body as Answer
}
const summary = ({ txHash, totalAmount, claimedAmount, refundedAmount, status }: Body) =>
  [txHash, totalAmount, claimedAmount, refundedAmount, status].join(' ')
const packet = async (id = PACKET) => summary(await read<Body>(`/${id}`))
const created = async () => {
  const { records, total } = await read<Page>(`/wallet/${CREATOR}/redpackets`)
  assert.equal(total, records.length)
  return records.map(summary)
}
const claims = async (path: string) => {
  const { records, total } = await read<Page>(`${path}/claims`)
  assert.equal(total, records.length)
  return records.map(({ txHash, amount, mint }) => [txHash, amount, mint].join(' '))
}

const FIRST_TEXT = 'tx1 100 60 40 withdrawn'

test('an address that is used again is its newest packet, and lists have both with what was paid out of each', async () => {
  await first()
  assert.deepEqual([await packet(), await created()], [FIRST_TEXT, [FIRST_TEXT]])
  await insert('sol_redpackets', creation(4, SECOND))
  await insert('sol_redpacket_claims', { ...event(5, 5), claimer: CLAIMER, amount: '7' })
  const second = 'tx4 500 7 0 active'
  assert.deepEqual([await packet(), await packet(SHARE_ID)], [second, second])
  assert.deepEqual(await created(), [second, FIRST_TEXT])
  assert.deepEqual(await claims(`/${PACKET}`), ['tx5 7 two'], 'those of the packet that it is now')
  assert.deepEqual(await claims(`/wallet/${CLAIMER}`), ['tx5 7 two', 'tx2 60 one'])
})

test('a second creation that a reorg takes back leaves the first packet as it was', async () => {
  await first()
  await insert('sol_redpackets', creation(4, SECOND))
  await insert('sol_redpackets', creation(4, SECOND, 5, 1))
  for (const table of ['sol_redpackets', 'sol_redpacket_creations'])
    await api.warehouse.command(`OPTIMIZE TABLE ${table} FINAL`)
  assert.deepEqual([await packet(), await created()], [FIRST_TEXT, [FIRST_TEXT]])
  await insert('sol_redpackets', creation(1, { total_amount: '100' }, 6, 1))
  const { status, body } = await callApi(api, `/v2/redpacket/${PACKET}`)
  assert.deepEqual([status, (body as Body).code], [404, 51001])
})

test('of two packets with one share id the older keeps it, also where its address is used again', async () => {
  await first()
  await insert('sol_redpackets', { ...creation(6, { total_amount: '9' }), packet_id: OTHER })
  assert.equal(await packet(SHARE_ID), FIRST_TEXT)
  await insert('sol_redpackets', creation(8, SECOND))
  assert.equal(await packet(SHARE_ID), 'tx8 500 0 0 active')
  assert.equal(await packet(OTHER), 'tx6 9 0 0 active')
})

test('creations of one address at one time are pages of their own', async () => {
  const { block_time } = event(1, 1)
  for (const n of [1, 2, 3])
    await insert('sol_redpackets', creation(n, { total_amount: '1', block_time }))
  const path = `/wallet/${CREATOR}/redpackets?limit=1`
  const seen: unknown[] = []
  for (let cursor = ''; seen.length < 3; ) {
    const page = await read<Page>(`${path}${cursor && `&cursor=${cursor}`}`)
    assert.equal(page.total, 3)
    seen.push(page.records[0]?.txHash)
    cursor = page.endCursor
  }
  assert.deepEqual(seen, ['tx3', 'tx2', 'tx1'])
})

test('the migration takes over what older builds stored, retractions included, and may be repeated', async () => {
  const { warehouse } = api
  await warehouse.command('DROP TABLE sol_redpacket_creations_mv')
  await first()
  await insert('sol_redpackets', { ...creation(6, {}, 6), packet_id: OTHER })
  await insert('sol_redpackets', { ...creation(6, {}, 7, 1), packet_id: OTHER })
  for (let round = 0; round < 2; round += 1) {
    const name = "name = '0036_red_packet_creations.sql' AND chain = 'sol'"
    await warehouse.command(
      `ALTER TABLE migrations DELETE WHERE ${name} SETTINGS mutations_sync = 2`,
    )
    await migrate(warehouse, ['eth', 'sol'])
    assert.deepEqual(await created(), [FIRST_TEXT])
  }
  await insert('sol_redpackets', creation(4, SECOND))
  assert.equal(await packet(), 'tx4 500 0 0 active')
})
