import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { base58Decode, base58Encode } from '../../core/base58.ts'
import {
  buildSimulatedSvmBlocks,
  executedInstructions,
  type RpcInstruction,
  type RpcTransaction,
  toRpcTransactions,
  transactionAccounts,
} from '../support/builders/simulated-svm-blocks.ts'

const SPEC = { seed: 1, ratePerSecond: 5, genesisMs: 1_735_689_600_000 }
const PUMP = '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P'
const AMM = 'pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA'
const RAYDIUM = '675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8'
const SYSTEM = '11111111111111111111111111111111'

/** Offsets by hand from the published IDLs; events of a program call themselves with this before. */
const TAG = 'e445a52e51cb9a1d'
const EVENT = {
  trade: 'bddb7fd34ee661ee',
  create: '1b72a94ddeeb6376',
  complete: '5f72619cd42e9808',
  migrate: 'bde95db95c94ea94',
  buy: '67f4521f2cf57777',
  sell: '3e2f370aa503dc2a',
  pool: 'b1310cd2a076a774',
} as const

interface Seen {
  readonly tx: RpcTransaction
  readonly program: string
  /** Discriminator and fields, without the tag. */
  readonly event: Buffer
  readonly kind: string
  readonly at: number
}

let tape: readonly RpcTransaction[]
let events: readonly Seen[]

const bytesOf = ({ data }: RpcInstruction): Buffer => Buffer.from(base58Decode(data) ?? [])

before(() => {
  tape = buildSimulatedSvmBlocks(SPEC, 420)
    .blocks.flatMap(toRpcTransactions)
    .filter(({ meta }) => meta.err === null)
  events = tape.flatMap((tx) => {
    const keys = transactionAccounts(tx)
    return executedInstructions(tx).flatMap((instruction, at) => {
      const bytes = bytesOf(instruction)
      const program = keys[instruction.programIdIndex] ?? ''
      if (bytes.toString('hex', 0, 8) !== TAG) return []
      const event = bytes.subarray(8)
      return [{ tx, program, event, kind: event.toString('hex', 0, 8), at }]
    })
  })
})

const ofKind = (kind: keyof typeof EVENT): readonly Seen[] =>
  events.filter((one) => one.kind === EVENT[kind])
const key = (bytes: Buffer, at: number): string => base58Encode(bytes.subarray(at, at + 32))
const u64 = (bytes: Buffer, at: number): bigint => bytes.readBigUInt64LE(at)
const up = (value: bigint, by: bigint): bigint => (value % by === 0n ? value / by : value / by + 1n)

/** Amounts of the token transfers right below an instruction, in order. */
const transfersBelow = (tx: RpcTransaction, at: number): readonly bigint[] => {
  const list = executedInstructions(tx)
  const height = list[at]?.stackHeight ?? 0
  const amounts: bigint[] = []
  for (const below of list.slice(at + 1)) {
    if (below.stackHeight <= height) break
    const program = transactionAccounts(tx)[below.programIdIndex] ?? ''
    const bytes = bytesOf(below)
    if (
      below.stackHeight === height + 1 &&
      program.startsWith('Token') &&
      [3, 12].includes(bytes[0] ?? 0)
    )
      amounts.push(u64(bytes, 1))
  }
  return amounts
}

/** Place of the instruction that emitted an event. */
const callerOf = ({ tx, at }: Seen): number => {
  const list = executedInstructions(tx)
  for (let place = at; place >= 0; place -= 1)
    if ((list[place]?.stackHeight ?? 0) < (list[at]?.stackHeight ?? 0)) return place
  throw new Error('an event without a caller')
}

test('every simulated event is in the logs as well', () => {
  for (const tx of tape) {
    const logged = tx.meta.logMessages
      .filter((line) => line.startsWith('Program data: '))
      .map((line) => Buffer.from(line.slice(14), 'base64').toString('hex'))
    const called = events.filter((one) => one.tx === tx).map(({ event }) => event.toString('hex'))
    assert.deepEqual(logged, called)
  }
})

test('simulated curves follow the plain arithmetic, trade after trade', () => {
  const curves = new Map<string, [bigint, bigint, bigint, bigint]>()
  let count = 0
  for (const seen of events) {
    const { event, kind, program } = seen
    if (kind === EVENT.create) {
      const texts = [0, 1, 2].reduce((at) => at + 4 + event.readUInt32LE(at), 8)
      const mint = key(event, texts)
      assert.ok(mint.endsWith('pump'))
      const fields = texts + 4 * 32 + 8
      const [token, sol, real, total] = [0, 8, 16, 24].map((at) => u64(event, fields + at))
      assert.deepEqual(
        [token, sol, real, total],
        [1_073n * 10n ** 12n, 30n * 10n ** 9n, 7_931n * 10n ** 11n, 10n ** 15n],
      )
      curves.set(mint, [30n * 10n ** 9n, 1_073n * 10n ** 12n, 0n, 7_931n * 10n ** 11n])
    }
    if (kind !== EVENT.trade) continue
    assert.equal(program, PUMP)
    const curve = curves.get(key(event, 8))
    assert.ok(curve, 'a token is created before it is traded')
    const [sol, tokens, isBuy] = [u64(event, 40), u64(event, 48), event[56] === 1]
    const [virtualSol, virtualToken, realSol, realToken] = curve
    const expected = isBuy
      ? (tokens * virtualSol) / (virtualToken - tokens) + 1n
      : (tokens * virtualSol) / (virtualToken + tokens)
    assert.equal(sol, expected)
    const sign = isBuy ? 1n : -1n
    const after: [bigint, bigint, bigint, bigint] = [
      virtualSol + sign * sol,
      virtualToken - sign * tokens,
      realSol + sign * sol,
      realToken - sign * tokens,
    ]
    assert.deepEqual(
      [97, 105, 113, 121].map((at) => u64(event, at)),
      after,
    )
    curves.set(key(event, 8), after)
    assert.deepEqual(transfersBelow(seen.tx, callerOf(seen)), [tokens])
    if (event.length > 129) {
      assert.equal(u64(event, 161), 95n)
      assert.equal(u64(event, 169), up(sol * 95n, 10_000n))
      assert.equal(u64(event, 217), up(sol * 30n, 10_000n))
    }
    count += 1
  }
  assert.ok(count > 500)
})

test('three layouts of the simulated trade event occur, and the newest has its quote mint', () => {
  const sizes = new Set(ofKind('trade').map(({ event }) => event.length))
  // The last two are those of the recorded buys of April and July 2026; a sell has one letter more.
  const known = [129, 282, 283, 358, 359]
  assert.deepEqual([...sizes].sort(), known)
  for (const { event } of ofKind('trade').filter((one) => one.event.length > 350)) {
    const tail = event.length - 56
    assert.equal(key(event, tail), SYSTEM)
    assert.equal(u64(event, tail + 32), u64(event, 40))
    assert.equal(u64(event, tail + 40), u64(event, 97))
    assert.equal(u64(event, tail + 48), u64(event, 113))
  }
})

test('a completed simulated curve migrates into a pool with its reserved tokens and all its SOL', () => {
  const complete = ofKind('complete')
  const migrated = ofKind('migrate')
  assert.ok(migrated.length > 0 && complete.length >= migrated.length)
  for (const { event, tx } of migrated) {
    const mint = key(event, 40)
    const tokens = u64(event, 72)
    const sol = u64(event, 80)
    const pool = key(event, 136)
    assert.equal(tokens, 2_069n * 10n ** 11n)
    assert.equal(u64(event, 88), 15_000_001n)
    assert.ok(sol > 84_990_000_000n && sol < 84_991_000_000n, `${sol}`)
    assert.ok(complete.some((one) => key(one.event, 40) === mint))
    const created = ofKind('pool').find((one) => one.tx === tx)
    assert.ok(created)
    assert.equal(created.program, AMM)
    assert.equal(key(created.event, 50), mint)
    assert.equal(u64(created.event, 116), tokens)
    assert.equal(u64(created.event, 124), sol)
    assert.equal(key(created.event, 173), pool)
    const shares = u64(created.event, 156)
    assert.equal(u64(created.event, 164), shares - 100n)
    assert.ok(shares * shares <= tokens * sol && (shares + 1n) ** 2n > tokens * sol)
    const opened = tx.meta.postTokenBalances.filter(({ owner }) => owner === pool)
    assert.deepEqual(
      opened.map(({ uiTokenAmount }) => uiTokenAmount.amount).sort(),
      [`${tokens}`, `${sol}`].sort(),
    )
  }
})

test('simulated pool trades follow the constant product with fees on top, and transfer the amounts of their events', () => {
  const trades = [...ofKind('buy'), ...ofKind('sell')]
  assert.ok(ofKind('buy').length > 20 && ofKind('sell').length > 5)
  for (const seen of trades) {
    const { event, kind } = seen
    const isBuy = kind === EVENT.buy
    const [base, poolBase, poolQuote, quote] = [16, 48, 56, 64].map((at) => u64(event, at))
    assert.ok(base && poolBase && poolQuote && quote)
    const plain = isBuy
      ? up(poolQuote * base, poolBase - base)
      : (poolQuote * base) / (poolBase + base)
    assert.equal(quote, plain)
    const [lp, protocol, poolSide, userSide] = [80, 96, 104, 112].map((at) => u64(event, at))
    assert.equal(lp, up(quote * 20n, 10_000n))
    assert.equal(protocol, up(quote * 5n, 10_000n))
    const creator = up(quote * 5n, 10_000n)
    if (event.length > 312) assert.equal(u64(event, 352), creator)
    assert.ok([312, 376, 392, 424, 440].includes(event.length), `${event.length} bytes`)
    assert.equal(poolSide, isBuy ? quote + (lp ?? 0n) : quote - (lp ?? 0n))
    const fees = (protocol ?? 0n) + creator
    assert.equal(userSide, isBuy ? (poolSide ?? 0n) + fees : (poolSide ?? 0n) - fees)
    const moved = transfersBelow(seen.tx, callerOf(seen))
    assert.deepEqual(moved, [base, isBuy ? poolSide : userSide, protocol, creator])
    const call = executedInstructions(seen.tx)[callerOf(seen)]
    assert.equal(
      transactionAccounts(seen.tx)[call?.accounts[4] ?? -1],
      'So11111111111111111111111111111111111111112',
    )
    assert.equal(transactionAccounts(seen.tx)[call?.accounts[0] ?? -1], key(event, 120))
  }
})

test('simulated Raydium swaps log their transferred amounts, and keep their product', () => {
  let count = 0
  const tags = new Set<number>()
  for (const tx of tape) {
    const keys = transactionAccounts(tx)
    const logged = tx.meta.logMessages.flatMap((line) => {
      const text = /^Program log: ray_log: (.+)$/.exec(line)?.[1]
      return text === undefined ? [] : [Buffer.from(text, 'base64')]
    })
    const list = executedInstructions(tx)
    const calls = list.flatMap((call, at) => (keys[call.programIdIndex] === RAYDIUM ? [at] : []))
    assert.equal(logged.length, calls.length)
    calls.forEach((at, place) => {
      const line = logged[place] ?? Buffer.alloc(57)
      const call = list[at]
      const bytes = call === undefined ? Buffer.alloc(17) : bytesOf(call)
      tags.add(bytes[0] ?? 0)
      assert.equal(line.length, 57)
      assert.equal(line[0], [9, 16].includes(bytes[0] ?? 0) ? 3 : 4)
      const [first, second, direction, , coin, pc, other] = [1, 9, 17, 25, 33, 41, 49].map(
        (field) => u64(line, field),
      )
      const [paid, got] = line[0] === 3 ? [first, other] : [other, second]
      assert.deepEqual(transfersBelow(tx, at), [paid, got])
      assert.ok(coin && pc && paid && got)
      const [into, out] = direction === 1n ? [pc, coin] : [coin, pc]
      const net = paid - up(paid * 25n, 10_000n)
      assert.ok((into + net) * (out - got) >= into * out)
      const vaults = call?.accounts.length === 8 ? [3, 4] : [5, 6]
      const reserves = vaults.map((vault) => {
        const index = call?.accounts[vault]
        const held = tx.meta.preTokenBalances.find(({ accountIndex }) => accountIndex === index)
        return held?.uiTokenAmount.amount
      })
      if (calls.length === 1) assert.deepEqual(reserves, [`${coin}`, `${pc}`])
      count += 1
    })
  }
  assert.ok(count > 100)
  assert.deepEqual(
    [...tags].sort((a, b) => a - b),
    [9, 11, 16, 17],
  )
})
