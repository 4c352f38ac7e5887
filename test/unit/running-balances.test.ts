import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyDecodedBlock } from '../../ingestors/decode/contract.ts'
import { updateRunningTotals } from '../../ingestors/publish/running-balances.ts'
import type { DecodedBlock, SupplyChange, TokenCreation, Transfer } from '../../schemas/events.ts'
import { buildEvmBlock } from '../support/builders/evm-block.ts'

const BLOCK = buildEvmBlock({ height: 7 }, [])
const ZERO = '0x0000000000000000000000000000000000000000'
const TOKEN = '0x00000000000000000000000000000000000000aa'
const OTHER = '0x00000000000000000000000000000000000000bb'

const birth: TokenCreation = {
  kind: 'token-created',
  txIndex: 0,
  logIndex: 0,
  metadata: { address: TOKEN, decimals: 6, name: 'A', symbol: 'A', totalSupplyRaw: null },
  dev: '0xdev',
  creators: [],
  launch: null,
}
const moved = (
  tx: number,
  log: number,
  from: string,
  to: string,
  raw: bigint,
  token = TOKEN,
): Transfer => ({
  kind: 'transfer',
  txIndex: tx,
  logIndex: log,
  token,
  from,
  to,
  amountRaw: raw,
  wrap: false,
})
const supplied = (type: SupplyChange['type'], raw: bigint, token = TOKEN): SupplyChange => ({
  kind: 'supply',
  txIndex: 0,
  logIndex: 1,
  type,
  token,
  amountRaw: raw,
})
const decoded = (more: Partial<DecodedBlock>): DecodedBlock => ({ ...emptyDecodedBlock(), ...more })
const kept = (amounts: ReadonlyMap<string, bigint | null>) => (key: string) =>
  amounts.get(key) ?? undefined

test('owners of a token created on this chain hold the sum of its transfers, one change per transaction', () => {
  const first = updateRunningTotals(
    BLOCK,
    decoded({
      tokenCreations: [birth],
      transfers: [moved(0, 1, ZERO, '0xdev', 100n), moved(0, 2, '0xdev', '0xa', 30n)],
    }),
    [],
    () => undefined,
  )
  assert.deepEqual(
    first.balances.map(({ owner, preRaw, postRaw, lifecycle }) => [
      owner,
      preRaw,
      postRaw,
      lifecycle,
    ]),
    [
      ['0xdev', 0n, 70n, 'new'],
      ['0xa', 0n, 30n, 'new'],
    ],
  )
  const second = updateRunningTotals(
    BLOCK,
    decoded({
      transfers: [
        moved(1, 3, '0xa', '0xb', 30n),
        moved(1, 4, '0xb', '0xa', 30n),
        moved(2, 5, '0xa', '0xb', 30n),
        moved(2, 6, '0xx', '0xy', 1n, OTHER),
      ],
    }),
    [],
    kept(first.amounts),
  )
  assert.deepEqual(
    second.balances.map(({ txIndex, owner, preRaw, postRaw }) => [txIndex, owner, preRaw, postRaw]),
    [
      [2, '0xa', 30n, 0n],
      [2, '0xb', 0n, 30n],
    ],
  )
  assert.equal(second.amounts.get(`held/${TOKEN}/0xa`), null)
})

test('the supply of a token is tracked from its creation, or from the node value at the end of a block', () => {
  const born = updateRunningTotals(
    BLOCK,
    decoded({ tokenCreations: [birth], supplies: [supplied('mint', 100n), supplied('burn', 40n)] }),
    [],
    () => undefined,
  )
  assert.deepEqual(
    born.supplies.map(({ postRaw }) => postRaw),
    [100n, 60n],
  )
  const fact = { address: OTHER, decimals: 0, name: null, symbol: null, totalSupplyRaw: 500n }
  const asked = updateRunningTotals(
    BLOCK,
    decoded({ supplies: [supplied('mint', 7n, OTHER)] }),
    [fact],
    () => undefined,
  )
  assert.deepEqual(
    asked.supplies.map(({ postRaw }) => postRaw),
    [null],
  )
  const later = updateRunningTotals(
    BLOCK,
    decoded({ supplies: [supplied('burn', 7n, OTHER)] }),
    [],
    kept(asked.amounts),
  )
  assert.deepEqual(
    later.supplies.map(({ postRaw }) => postRaw),
    [493n],
  )
})
