import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { HEAD_MS } from '../support/paged-lists.ts'

const CREATOR = `0x${'c1'.repeat(20)}`
const PACKET = `0x${'d0'.repeat(31)}00`
const COUNT = 5

const hash = (n: number): string => `0x${'d0'.repeat(31)}${n.toString(16).padStart(2, '0')}`
/** Row `n` is a minute newer than the one before. */
const position = (n: number) => ({
  block_time: new Date(HEAD_MS + n * 60_000).toISOString(),
  block_slot: 100 + n,
  block_height: 100 + n,
  block_hash: hash(n),
  tx_hash: hash(n),
  event_index: 0,
  _ver: 1,
})
const numbers = Array.from({ length: COUNT }, (_, n) => n)

let api: TestApi
before(async () => {
  api = await startApi()
  await api.warehouse.insert(
    'eth_redpackets',
    numbers.map((n) => ({
      ...position(n),
      packet_id: hash(n),
      total_amount: '10',
      max_claims: 9,
      created_at: position(n).block_time,
      creator: CREATOR,
    })),
  )
  await api.warehouse.insert(
    'eth_redpacket_claims',
    numbers.map((n) => ({
      ...position(n),
      event_index: 1,
      packet_id: PACKET,
      claimer: CREATOR,
      amount: '1',
    })),
  )
})
after(() => api.stop())

interface Page {
  readonly records: readonly { readonly txHash: string }[]
  readonly total: number
  readonly hasNextPage: boolean
  readonly startCursor: string
  readonly endCursor: string
}

const LISTS = [
  '/redpacket',
  `/redpacket/${PACKET}/claims`,
  `/redpacket/wallet/${CREATOR}/claims`,
  `/redpacket/wallet/${CREATOR}/redpackets`,
]

const read = async (path: string): Promise<Page> => {
  const { status, body, text } = await callApi(api, path)
  assert.equal(status, 200, text)
  return body as Page
}
/** Numbers of the rows of a page. */
const shown = ({ records }: Page): readonly number[] =>
  records.map(({ txHash }) => Number.parseInt(txHash.slice(-2), 16))

for (const version of ['/v1', '/v2']) {
  for (const list of LISTS) {
    const path = `${version}${list}?limit=2`
    test(`${version}${list}: asc is oldest first, desc newest first, in any case`, async () => {
      for (const [words, expected] of [
        [
          ['asc', 'ASC', 'Asc'],
          [0, 1],
        ],
        [
          ['desc', 'DESC', 'next', 'NEXT'],
          [4, 3],
        ],
        [
          ['prev', 'PREV'],
          [1, 0],
        ],
      ] as const) {
        for (const word of words) {
          assert.deepEqual(shown(await read(`${path}&direction=${word}`)), expected, word)
        }
      }
    })
    test(`${version}${list}: asc continues with newer rows from a cursor of either order`, async () => {
      const first = await read(`${path}&direction=asc`)
      const second = await read(`${path}&direction=asc&cursor=${first.endCursor}`)
      const third = await read(`${path}&direction=asc&cursor=${second.endCursor}`)
      assert.deepEqual([first, second, third].map(shown), [[0, 1], [2, 3], [4]])
      assert.deepEqual(
        [first, second, third].map(({ hasNextPage, total }) => [hasNextPage, total]),
        [
          [true, COUNT],
          [true, COUNT],
          [false, COUNT],
        ],
      )
      const newest = await read(`${path}&direction=desc`)
      const back = await read(`${path}&direction=asc&cursor=${newest.endCursor}`)
      assert.deepEqual(shown(back), [4])
    })
  }
}

test('another direction is refused', async () => {
  for (const word of ['up', 'ascending', '']) {
    const { status, body } = await callApi(api, `/v2/redpacket?direction=${word}`)
    assert.deepEqual([status, (body as { readonly code: number }).code], [400, 40002], word)
  }
})
