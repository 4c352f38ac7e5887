/** Quotes of Whirlpool pools against the real program in Solana's runtime: the same amounts to the unit, over our own instruction. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { address } from '@solana/kit'
import { base58Decode } from '../../core/base58.ts'
import type { AccountPoolHead } from '../../serving/dex/account-pool.ts'
import { computeBudget } from '../../serving/dex/compute-budget.ts'
import { type AmountQuote, type Pool, quoteExactIn, quoteExactOut } from '../../serving/dex/pool.ts'
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../serving/dex/solana-calls.ts'
import { unsignedTransaction } from '../../serving/dex/solana-message.ts'
import type { SolanaAccount } from '../../serving/dex/solana-node.ts'
import { solanaVenue, type VenueSwap } from '../../serving/dex/solana-venues.ts'
import { arrivesWhole } from '../../serving/dex/token-mint.ts'
import { arrayStarts } from '../../serving/dex/whirlpool.ts'
import { whirlpoolFamily } from '../../serving/dex/whirlpool-accounts.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import {
  execute,
  fundedWallet,
  type LocalSvm,
  putAccount,
  startLocalSvm,
} from '../support/nodes/local-svm.ts'
import {
  addWhirlpoolProgram,
  putTokenAccount,
  putWhirlpool,
  WHIRLPOOL_PROGRAM,
  type WhirlpoolPosition,
  type WhirlpoolStart,
} from '../support/nodes/whirlpool.ts'

const HOLDS = 10n ** 18n
const MINTS = sortedMints('mint one', 'mint two')

let node: LocalSvm
let owner = ''
const accounts = ['wallet account a', 'wallet account b'].map(addressFor) as [string, string]

function sortedMints(one: string, other: string): readonly [string, string] {
  const keys = [one, other].map(addressFor)
  const [first = '', second = ''] = keys.toSorted((a, b) =>
    Buffer.compare(Buffer.from(base58Decode(a) ?? []), Buffer.from(base58Decode(b) ?? [])),
  )
  return [first, second]
}

before(async () => {
  node = await startLocalSvm()
  addWhirlpoolProgram(node)
  owner = (await fundedWallet(node, 1, 50n * 10n ** 9n)).address
  const data = Buffer.alloc(82)
  data.writeBigUInt64LE(10n ** 19n, 36)
  data.writeUInt8(6, 44)
  data.writeUInt8(1, 45)
  for (const mint of MINTS) putAccount(node, mint, { owner: TOKEN_PROGRAM, data })
  await node.stop()
})

/** A repeatable source of numbers below a bound. Source: Numerical Recipes, its 64-bit linear congruential generator. */
const numbersFrom = (seed: number) => {
  let state = BigInt(seed)
  return (below: number): number => {
    state = BigInt.asUintN(64, state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n)
    return Number((state >> 33n) % BigInt(below))
  }
}

const accountOf = (key: string): SolanaAccount | undefined => {
  const found = node.svm.getAccount(address(key))
  if (!found.exists) return undefined
  return { owner: found.programAddress, lamports: 1n, data: Uint8Array.from(found.data) }
}

const headOf = (pool: string): AccountPoolHead => ({
  address: pool,
  protocol: 'orca_whirlpool',
  tokens: MINTS[0] < MINTS[1] ? MINTS : [MINTS[1], MINTS[0]],
  tvlUsd: null,
  kind: 'whirlpool',
})

/** The pool as its accounts are now. */
const readPool = async (pool: string, head = headOf(pool)): Promise<Pool | null> => {
  const data = accountOf(pool)?.data ?? new Uint8Array()
  const further = await whirlpoolFamily.accounts(pool, data)
  const found = further.map((key) => ({ address: key, account: accountOf(key) }))
  return whirlpoolFamily.pool(head, data, found)
}

/** What a swap of ours moved; undefined where the program refuses it. */
const swapped = async (
  pool: Pool,
  sellsA: boolean,
  swap: Pick<VenueSwap, 'mode' | 'amountInRaw' | 'minOutRaw' | 'maxInRaw'>,
): Promise<{ readonly paid: bigint; readonly got: bigint } | undefined> => {
  for (const side of [0, 1] as const) {
    putTokenAccount(node, accounts[side], { mint: MINTS[side], owner, amount: HOLDS })
  }
  const [sold, bought] = sellsA ? ([0, 1] as const) : ([1, 0] as const)
  const data = accountOf(pool.address)?.data ?? new Uint8Array()
  const call = await solanaVenue('orca_whirlpool')?.swap(
    {
      pool: pool.address,
      owner,
      tokenIn: MINTS[sold],
      tokenOut: MINTS[bought],
      programIn: TOKEN_PROGRAM,
      programOut: TOKEN_PROGRAM,
      accountIn: accounts[sold],
      accountOut: accounts[bought],
      ...swap,
    },
    { pool: data, config: new Uint8Array(), quoted: pool },
  )
  assert.ok(call)
  node.svm.expireBlockhash()
  const lifetime = { blockhash: node.svm.latestBlockhash(), lastValidBlockHeight: 300 }
  try {
    execute(node, unsignedTransaction(owner, lifetime, [...computeBudget(1_400_000, 0n), call]))
  } catch (error) {
    assert.match(String(error), /Program log: AnchorError|failed/)
    return undefined
  }
  return {
    paid: HOLDS - tokensIn(accounts[sold]),
    got: tokensIn(accounts[bought]) - HOLDS,
  }
}

/** Quotes a swap, makes it with these very amounts as its limits, and compares. */
const compare = async (
  place: string,
  sellsA: boolean,
  mode: VenueSwap['mode'],
  amount: bigint,
): Promise<AmountQuote> => {
  const pool = await readPool(place)
  assert.ok(pool)
  const tokenIn = MINTS[sellsA ? 0 : 1]
  const quote =
    mode === 'exact_in' ? quoteExactIn(pool, tokenIn, amount) : quoteExactOut(pool, tokenIn, amount)
  const other = 'refused' in quote ? undefined : quote.amountRaw
  const limits =
    mode === 'exact_in'
      ? { amountInRaw: amount, maxInRaw: amount, minOutRaw: other ?? 0n }
      : { amountInRaw: other ?? 0n, maxInRaw: other ?? 2n ** 63n, minOutRaw: amount }
  const done = await swapped(pool, sellsA, { mode, ...limits })
  const label = `${place} ${sellsA} ${mode} ${amount}`
  if (other !== undefined) {
    const [paid, got] = mode === 'exact_in' ? [amount, other] : [other, amount]
    assert.deepEqual(done, { paid, got }, label)
  } else if (done !== undefined) {
    // Of what is more than the pool has a part is swapped, never the amount itself.
    const isWhole =
      mode === 'exact_in' ? done.paid === amount && done.got > 0n : done.got === amount
    assert.equal(isWhole, false, label)
  }
  return quote
}

/** What the account of a token holds. */
const tokensIn = (account: string): bigint =>
  Buffer.from(accountOf(account)?.data ?? []).readBigUInt64LE(64)

/** A pool around its price, with positions over several arrays. */
const randomPool = (number: number): WhirlpoolStart => {
  const below = numbersFrom(number + 1)
  const spacings = [1, 2, 4, 8, 16, 64, 96, 128, 256, 32_896]
  const tickSpacing = spacings[number % spacings.length] ?? 1
  const width = 88 * tickSpacing
  const usable = Math.floor(443_636 / tickSpacing) * tickSpacing
  const inRange = (tick: number): number => Math.min(usable, Math.max(-usable, tick))
  const tick = tickSpacing > 400 ? below(40_000) - 20_000 : below(200_000) - 100_000
  const near = Math.floor(tick / tickSpacing) * tickSpacing
  const positions: WhirlpoolPosition[] = Array.from({ length: 12 }, (_, index) => {
    const steps = index < 6 ? 88 : 250
    const lower = inRange(near + (below(2 * steps) - steps) * tickSpacing)
    const upper = inRange(lower + (1 + below(steps)) * tickSpacing)
    return { lower, upper, liquidity: 10n ** BigInt(6 + below(7)) + BigInt(below(1_000_000)) }
  }).filter(({ lower, upper }) => lower < upper)
  const around = { lower: inRange(near - width), upper: inRange(near + width) }
  return {
    mintA: MINTS[0],
    mintB: MINTS[1],
    tickSpacing,
    feePips: [100, 400, 3_000, 10_000, 60_000, 0][number % 6] ?? 100,
    tick,
    positions: [...positions, { ...around, liquidity: 10n ** 10n }],
  }
}

const quoteOf = (pool: Pool, sellsA: boolean, mode: VenueSwap['mode'], amount: bigint) =>
  (mode === 'exact_in' ? quoteExactIn : quoteExactOut)(pool, MINTS[sellsA ? 0 : 1], amount)

/** The largest power of two that is quoted. */
const largestQuoted = (pool: Pool, sellsA: boolean, mode: VenueSwap['mode']): bigint => {
  for (let bits = 58n; bits > 0n; bits -= 1n) {
    if ('amountRaw' in quoteOf(pool, sellsA, mode, 1n << bits)) return 1n << bits
  }
  return 1n
}

if (WHIRLPOOL_PROGRAM !== undefined) {
  test('random swaps over random pools move what the quote says, to the unit', async () => {
    const counts = { quoted: 0, crossing: 0, manyCrossed: 0, beyond: 0, insufficient: 0 }
    const ways = new Map<string, number>()
    for (let number = 0; number < 30; number += 1) {
      const below = numbersFrom(1_000 + number)
      const place = await putWhirlpool(node, randomPool(number))
      for (let each = 0; each < 8; each += 1) {
        const [sellsA, mode] = [below(2) === 0, below(2) === 0 ? 'exact_in' : 'exact_out'] as const
        const pool = await readPool(place)
        assert.ok(pool)
        // From a small part of what the arrays take up to more than that.
        const most = largestQuoted(pool, sellsA, mode)
        const part = (most * BigInt(1 + below(2_400))) / 1_000n
        const amount = (each < 2 ? BigInt(below(1_000)) : part) + 1n
        const quote = await compare(place, sellsA, mode, amount)
        if ('refused' in quote) {
          counts[quote.refused === 'beyond_known_ticks' ? 'beyond' : 'insufficient'] += 1
          continue
        }
        counts.quoted += 1
        if (quote.steps > 1) counts.crossing += 1
        if (quote.steps > 4) counts.manyCrossed += 1
        const way = `${sellsA ? 'sells' : 'buys'} a ${mode}`
        ways.set(way, (ways.get(way) ?? 0) + 1)
      }
    }
    const text = JSON.stringify([counts, ...ways])
    assert.ok(counts.quoted >= 120 && counts.crossing >= 60 && counts.manyCrossed >= 30, text)
    assert.ok(counts.beyond >= 10 && counts.insufficient >= 1, text)
    assert.ok(ways.size === 4 && [...ways.values()].every((count) => count >= 15), text)
  })

  test('the largest amount that the arrays of a pool take is swapped, and not a unit more', async () => {
    for (const [number, tickSpacing] of [1, 8, 64].entries()) {
      const width = 88 * tickSpacing
      // At both ends of an array, and within the last spacing of one: prices that rise begin in the next array then.
      for (const tick of [0, 1, width - tickSpacing - 1, width - tickSpacing, width - 1]) {
        const wide = { lower: -4 * width, upper: 5 * width, liquidity: 10n ** 12n }
        const positions = [wide, { lower: 0, upper: width, liquidity: 10n ** 11n }]
        // A fee tells the pools apart.
        const feePips = 1_000 + number * 100 + (tick % 97)
        const [mintA, mintB] = MINTS
        const pool = { mintA, mintB, tickSpacing, feePips, tick, positions }
        for (const sellsA of [true, false]) {
          for (const mode of ['exact_in', 'exact_out'] as const) {
            const place = await putWhirlpool(node, pool)
            const read = await readPool(place)
            assert.ok(read)
            let [low, high] = [1n, 1n << 58n]
            while (high - low > 1n) {
              const middle = (low + high) / 2n
              if ('amountRaw' in quoteOf(read, sellsA, mode, middle)) low = middle
              else high = middle
            }
            await compare(place, sellsA, mode, high)
            await putWhirlpool(node, pool)
            await compare(place, sellsA, mode, low)
          }
        }
      }
    }
  })
}

test('a swap uses the arrays that the program looks for', () => {
  const at = (tick: number, sellsA: boolean) => arrayStarts({ tick, tickSpacing: 64 }, sellsA)
  const width = 88 * 64
  assert.deepEqual(at(width - 65, false), [0, width, 2 * width])
  assert.deepEqual(at(width - 64, false), [width, 2 * width, 3 * width])
  assert.deepEqual(at(width - 1, true), [0, -width, -2 * width])
  assert.deepEqual(at(-443_636, true), [-79 * width])
  assert.deepEqual(at(443_635, false), [78 * width])
  assert.deepEqual(arrayStarts({ tick: 5, tickSpacing: 32_896 }, true), [0, -2_894_848])
  assert.deepEqual(arrayStarts({ tick: 5, tickSpacing: 32_896 }, false), [0])
})

test('arrays with room for the initialized ticks only hold what the others do', async () => {
  const place = await putWhirlpool(node, randomPool(4))
  const fixed = await readPool(place)
  await putWhirlpool(node, { ...randomPool(4), dynamic: true })
  assert.ok(fixed?.kind === 'whirlpool' && fixed.ticks.length > 4)
  assert.deepEqual(await readPool(place), fixed)
})

test('a pool is of no use where its fee follows from its swaps, or an account is not what it should be', async () => {
  const usual = randomPool(5)
  const adaptive = await putWhirlpool(node, { ...usual, feeTier: 1_025 })
  assert.equal(await readPool(adaptive), null)
  const place = await putWhirlpool(node, usual)
  assert.ok(await readPool(place))
  const others = { ...headOf(place), tokens: [MINTS[0], addressFor('another')] as const }
  assert.equal(await readPool(place, others), null)
  const data = accountOf(place)?.data ?? new Uint8Array()
  const further = await whirlpoolFamily.accounts(place, data)
  const found = further.map((key) => ({ address: key, account: accountOf(key) }))
  const read = (change: (account: SolanaAccount) => SolanaAccount | undefined, at: number) =>
    whirlpoolFamily.pool(
      headOf(place),
      data,
      found.map((each, index) =>
        index === at && each.account ? { ...each, account: change(each.account) } : each,
      ),
    )
  const ofArray = found.findIndex(({ account }) => account?.data.length === 9_988)
  const ofMint = found.length - 1
  assert.ok(
    read((account) => account, ofArray),
    'as it is',
  )
  const short = (account: SolanaAccount) => ({ ...account, data: account.data.subarray(1) })
  const foreign = (account: SolanaAccount) => ({ ...account, owner: addressFor('a program') })
  const moved = (account: SolanaAccount) => {
    const bytes = Uint8Array.from(account.data)
    bytes[8] = (bytes[8] ?? 0) ^ 1
    return { ...account, data: bytes }
  }
  for (const change of [short, foreign, moved]) assert.equal(read(change, ofArray), null)
  for (const change of [short, foreign, () => undefined]) assert.equal(read(change, ofMint), null)
  assert.equal(whirlpoolFamily.pool(headOf(place), data, found.slice(1)), null)
  assert.deepEqual(await whirlpoolFamily.accounts(place, data.subarray(1)), [])
})

test('a token whose transfers cost a fee or call a hook is not taken', () => {
  const mint = (...extensions: readonly (readonly [type: number, bytes: number])[]) => {
    const tail = extensions.map(([type, bytes]) => {
      const data = Buffer.alloc(4 + bytes)
      data.writeUInt16LE(type)
      data.writeUInt16LE(bytes, 2)
      return data
    })
    const head = Buffer.alloc(166)
    head.writeUInt8(1, 165)
    return { owner: TOKEN_2022_PROGRAM, lamports: 1n, data: Buffer.concat([head, ...tail]) }
  }
  const [pointer, metadata, fee, hook] = [
    [18, 64],
    [19, 100],
    [1, 108],
    [14, 64],
  ] as const
  assert.equal(arrivesWhole(mint(pointer, metadata)), true)
  assert.equal(arrivesWhole({ ...mint(), data: Buffer.alloc(82) }), true)
  assert.equal(arrivesWhole(mint(pointer, fee)), false)
  assert.equal(arrivesWhole(mint(pointer, metadata, hook)), false)
  assert.equal(arrivesWhole(mint([99, 4])), false)
  assert.equal(arrivesWhole({ ...mint(pointer), owner: TOKEN_PROGRAM }), false)
  assert.equal(arrivesWhole(undefined), false)
})
