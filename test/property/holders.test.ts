import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HOLDERS } from '../../processors/holders/stage.ts'
import { TopHolders } from '../../processors/holders/top-holders.ts'
import type { FlushResult, Operation } from '../../processors/runtime/stage.ts'
import type { TokenHoldingEvent } from '../../schemas/wire.ts'
import { type BruteHoldings, bruteHoldings } from '../support/brute-force/holders.ts'
import {
  buildWalletTape,
  type WalletAction,
  type WalletStep,
  type WalletTape,
  walletStepsArbitrary,
  walletTapeOperations,
} from '../support/builders/wallet-tape.ts'
import { createStageState } from '../support/stage-harness.ts'

const HOUR_MS = 3_600_000
const keyOf = (event: TokenHoldingEvent): string =>
  `${event.token_address}|${Math.floor(event.timestamp / HOUR_MS)}`

/** Newest state per token and hour, and the last event of each key as a compacted topic keeps it. */
class Board {
  readonly hours = new Map<string, TokenHoldingEvent>()
  readonly current = new Map<string, TokenHoldingEvent>()
  readonly state = new Map<string, string>()

  take({ publications, changes }: FlushResult): void {
    for (const publication of publications) {
      assert.equal(publication.topic, 'tokenHoldings')
      if (publication.topic !== 'tokenHoldings') continue
      for (const event of publication.value.events) {
        assert.equal(event.token_address, publication.key)
        const key = keyOf(event)
        assert.ok((this.hours.get(key)?.version ?? 0) < event.version, `${key}: version`)
        this.hours.set(key, event)
        this.current.set(event.token_address, event)
      }
    }
    for (const [key, value] of changes) {
      if (value === null) this.state.delete(key)
      else this.state.set(key, value)
    }
  }

  /** States that are some: an all-zero one stands for none. */
  held(): ReadonlyMap<string, TokenHoldingEvent> {
    return new Map([...this.hours].filter(([, { holders }]) => holders > 0))
  }
}

const run = (
  ops: readonly Operation[],
  sizes: readonly number[] = [1],
  restarts: readonly boolean[] = [false],
): Board => {
  const board = new Board()
  let folding = HOLDERS.load(createStageState(board.state))
  let at = 0
  for (let round = 0; at < ops.length; round += 1) {
    const size = sizes[round % sizes.length] ?? 1
    for (const operation of ops.slice(at, at + size)) folding.step(operation)
    board.take(folding.flush())
    at += size
    if (restarts[round % restarts.length]) folding = HOLDERS.load(createStageState(board.state))
  }
  return board
}

const operations = (tape: WalletTape): readonly Operation[] =>
  walletTapeOperations(tape, HOLDERS.inputs)

const share = (owners: number, raw: bigint, supply: bigint) => [
  owners,
  String(raw),
  raw < 0n || supply <= 0n ? '' : Number(raw) / Number(supply),
]

const same = (key: string, event: TokenHoldingEvent, expected: BruteHoldings): void => {
  const number = (text: string): number | '' => (text === '' ? '' : Number(text))
  const { top, groups, supply } = expected
  assert.deepEqual(
    {
      holders: event.holders,
      changedMs: event.timestamp,
      top10: [event.top10_holders, event.top10_amount, number(event.top10_ratio)],
      top50: [event.top50_holders, event.top50_amount, number(event.top50_ratio)],
      top100: [event.top100_holders, event.top100_amount, number(event.top100_ratio)],
      creators: [event.creators_count, event.creators_amount, number(event.creators_ratio)],
      dev: [event.dev_count, event.dev_amount, number(event.dev_ratio)],
      sniper: [event.sniper_count, event.sniper_amount, number(event.sniper_ratio)],
      bundle: [event.bundle_count, event.bundle_amount, number(event.bundle_ratio)],
      kol: [event.kol_count, event.kol_amount, event.kol_ratio],
    },
    {
      holders: expected.holders,
      changedMs: expected.changedMs,
      top10: share(top[10].owners, top[10].raw, supply),
      top50: share(top[50].owners, top[50].raw, supply),
      top100: share(top[100].owners, top[100].raw, supply),
      creators: share(groups.creators.owners, groups.creators.raw, supply),
      dev: share(groups.dev.owners, groups.dev.raw, supply),
      sniper: share(groups.sniper.owners, groups.sniper.raw, supply),
      bundle: share(groups.bundle.owners, groups.bundle.raw, supply),
      kol: [0, '', ''],
    },
    key,
  )
}

const check = (tape: WalletTape, board: Board): void => {
  const expected = [...bruteHoldings(tape.blocks)].filter(([, { holders }]) => holders > 0)
  const held = board.held()
  assert.deepEqual([...held.keys()].toSorted(), expected.map(([key]) => key).toSorted())
  for (const [key, holdings] of expected) {
    const event = held.get(key)
    assert.ok(event)
    same(key, event, holdings)
  }
  for (const [token, event] of board.current) {
    const hours = [...held.keys()].filter((key) => key.startsWith(`${token}|`))
    const newest = Math.max(...hours.map((key) => Number(key.split('|')[1])))
    if (event.holders > 0) assert.equal(keyOf(event), `${token}|${newest}`)
  }
}

const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 })
const restarts = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 })
const courses = walletStepsArbitrary.map((moves) => buildWalletTape(moves))
const RUNS = { numRuns: 120 }

test('after any history of a chain holders by hour are those of its canonical blocks', () => {
  fc.assert(
    fc.property(courses, sizes, restarts, (tape, flushes, stops) => {
      check(tape, run(operations(tape), flushes, stops))
    }),
    RUNS,
  )
})

test('batch boundaries and restarts change neither the last holders nor the state', () => {
  fc.assert(
    fc.property(courses, sizes, restarts, (tape, flushes, stops) => {
      const one = run(operations(tape))
      const other = run(operations(tape), flushes, stops)
      assert.deepEqual([...other.held()].toSorted(), [...one.held()].toSorted())
      assert.deepEqual([...other.state].toSorted(), [...one.state].toSorted())
    }),
    RUNS,
  )
})

const birth: WalletAction = {
  kind: 'birth',
  tx: 0,
  token: '0xt1',
  dev: '0xdev',
  creators: ['0xdev'],
  curve: '0xcurve',
}

const held = (owner: string, postRaw: bigint): WalletAction => ({
  kind: 'balance',
  tx: 0,
  token: '0xt1',
  owner,
  account: owner,
  postRaw,
})

test('a reorg of 60 blocks over a thousand holders restores them', () => {
  const crowd = (
    from: number,
    count: number,
    raw: (at: number) => bigint,
  ): readonly WalletAction[] =>
    Array.from({ length: count }, (_, index) => held(`0xc${from + index}`, raw(from + index)))
  const block = (acts: readonly WalletAction[]): WalletStep => ({
    kind: 'apply',
    stepMs: 120_000,
    acts,
  })
  const first = [
    block([birth, held('0xcurve', 10n ** 12n)]),
    ...Array.from({ length: 10 }, (_, at) => block(crowd(at * 100, 100, (n) => BigInt(n + 1)))),
  ]
  const sold = (shift: number) =>
    Array.from({ length: 60 }, (_, at) =>
      block(crowd(1_000 - (at + 1) * 15, 15, (n) => BigInt((n * shift) % 7))),
    )
  const back = Array.from({ length: 60 }, (): WalletStep => ({ kind: 'revert' }))
  const final: WalletStep = { kind: 'finalize', keep: 0 }
  for (const restart of [false, true]) {
    const gone = buildWalletTape([...first, final, ...sold(1), ...back])
    check(gone, run(operations(gone), [5], [restart]))
    const other = buildWalletTape([...first, ...sold(1), ...back, ...sold(2), final])
    check(other, run(operations(other), [5], [restart]))
  }
})

test('the owner of a pool vault is not among the largest holders, also before the pool is known', () => {
  const pool: WalletAction = { kind: 'pool', tx: 0, token: '0xt1', pool: '0xp1' }
  const vault: WalletAction = { ...held('0xauthority', 900n), account: '0xp1.a' } as WalletAction
  const block = (acts: readonly WalletAction[]): WalletStep => ({
    kind: 'apply',
    stepMs: 1_000,
    acts,
  })
  const first = block([birth, held('0xo1', 5n), vault])
  const swapped = block([pool, { ...vault, postRaw: 890n } as WalletAction])
  const tape = buildWalletTape([first, swapped])
  const event = run(operations(tape)).current.get('0xt1')
  assert.deepEqual([event?.holders, event?.top10_holders, event?.top10_amount], [2, 1, '5'])
  check(tape, run(operations(tape)))
  const undone = buildWalletTape([first, swapped, { kind: 'revert' }])
  assert.equal(run(operations(undone)).current.get('0xt1')?.top10_amount, '905')
})

test('a token whose creation is reverted ends with zero holders; tokens from before tracking have no state', () => {
  const tape = buildWalletTape([
    {
      kind: 'apply',
      stepMs: 0,
      acts: [birth, held('0xo', 5n), { ...held('0xo', 7n), token: '0xold' } as WalletAction],
    },
    { kind: 'revert' },
  ])
  const board = run(operations(tape))
  assert.deepEqual([...board.current.keys()], ['0xt1'])
  assert.deepEqual(
    [board.current.get('0xt1')?.holders, board.current.get('0xt1')?.top10_amount],
    [0, '0'],
  )
  assert.equal(board.state.size, 0)
})

test('the largest holders equal those of a full sort, however many balances change', () => {
  const change = fc.tuple(fc.nat({ max: 900 }), fc.bigInt(0n, 40n))
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 3_000, size: 'max' }),
      fc.nat(90),
      (changes, every) => {
        const top = new TopHolders()
        const all = new Map<string, bigint>()
        for (const [index, [owner, raw]] of changes.entries()) {
          const name = `o${owner}`
          all.set(name, raw)
          top.set(name, raw)
          if (index % (every + 10) !== 0 && index !== changes.length - 1) continue
          const sorted = [...all]
            .filter(([, amount]) => amount > 0n)
            .toSorted(([a, one], [b, other]) => Number(other - one) || (a < b ? -1 : 1))
            .slice(0, 100)
          if (top.best(100) === undefined) top.fill(all, all.size)
          assert.deepEqual(
            top.best(100)?.map(({ owner: holder, raw: amount }) => [holder, amount]),
            sorted,
          )
        }
      },
    ),
    { numRuns: 30 },
  )
})

test('all owners are scanned again only after many of the largest have left', () => {
  const owners = 16_000
  const all = new Map(Array.from({ length: owners }, (_, n) => [`o${n}`, BigInt(1_000 + n)]))
  const top = new TopHolders()
  let fills = 0
  const fill = (): void => {
    fills += 1
    top.fill(all, all.size)
  }
  fill()
  for (let block = 0; block < 20; block += 1) {
    for (let n = 0; n < 301; n += 1) {
      const owner = `o${owners - 1 - block * 301 - n}`
      all.delete(owner)
      top.set(owner, 0n)
    }
    if (top.best(100) === undefined) fill()
    const largest = owners - 1 - (block + 1) * 301
    assert.deepEqual(top.best(100)?.at(0), { owner: `o${largest}`, raw: BigInt(1_000 + largest) })
    assert.equal(top.best(100)?.length, 100)
  }
  assert.ok(fills <= 5, `${fills} times`)
})
