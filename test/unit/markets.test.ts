import assert from 'node:assert/strict'
import { test } from 'node:test'
import { marketRows } from '../../processors/market-rows.ts'
import { MARKETS } from '../../processors/markets.ts'
import type { Operation, Publication } from '../../processors/stage.ts'
import type { TokenSupplyEvent } from '../../schemas/wire.ts'
import { stageState } from '../support/stage.ts'
import { blockEventOf, metaOf, type TapeOp } from '../support/tape.ts'

const supplied = (post: string): TokenSupplyEvent => ({
  ...{ instruction: null, block: null, transaction: null, d_app: null },
  type: 'TOKEN_SUPPLY_EVENT_TYPE_MINT',
  token_supply: {
    ...{ token_address: '0xaaa', amount: '1', decimals: 0 },
    ...{ amount_without_decimals: '1', amount_with_decimals: '1', post_amount_with_decimals: post },
  },
  market_cap: null,
})

const operation = (op: TapeOp['op'], seq: number, height: number, post: string): Operation => {
  const timeMs = height * 1_000
  const block = { height, hash: `0xb${height}`, parent: `0xb${height - 1}`, timeMs, trades: [] }
  const tape: TapeOp = { op, seq, block, finalHeight: 0 }
  const value = { meta: metaOf(tape), events: [supplied(post)] }
  return {
    block: blockEventOf(tape),
    records: [{ topic: 'tokenSupplies', key: '0xaaa', part: 0, value }],
  }
}

const marketsIn = (publications: readonly Publication[]) =>
  publications.flatMap((one) => (one.topic === 'tokenMarketCaps' ? [one.value] : []))

test('a market that a retraction brings back is told as of the block that left it so', () => {
  const folding = MARKETS.load(stageState())
  const [first] = marketsIn(folding.step(operation('apply', 1, 1, '100')))
  folding.step(operation('apply', 2, 2, '200'))
  const [again] = marketsIn(folding.step(operation('revert', 3, 2, '200')))
  assert.deepEqual(again?.events, first?.events)
  assert.equal(again?.meta?.seq, 3)
  const time = (value = again) => value && marketRows(value).map(({ market_time }) => market_time)
  assert.deepEqual(time(), time(first))
})
