/** Quotes of Meteora DLMM against the real program in Solana's runtime: the same amounts to the unit, over our own instruction. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { address } from '@solana/kit'
import { base58Encode } from '../../core/base58.ts'
import type { AccountPoolHead } from '../../serving/dex/account-pool.ts'
import { computeBudget, firstLimit } from '../../serving/dex/compute-budget.ts'
import { dlmmFamily } from '../../serving/dex/dlmm-accounts.ts'
import { DLMM_PRICE_BITS, dlmmPriceOfBin } from '../../serving/dex/dlmm-bin.ts'
import { DLMM_PAIR, readDlmmArray } from '../../serving/dex/dlmm-layout.ts'
import {
  type AmountQuote,
  type DlmmPool,
  type Pool,
  quoteExactIn,
  quoteExactOut,
  spotPrice,
} from '../../serving/dex/pool.ts'
import { unsignedTransaction } from '../../serving/dex/solana-message.ts'
import type { SolanaAccount } from '../../serving/dex/solana-node.ts'
import { solanaVenue, type VenueSwap } from '../../serving/dex/solana-venues.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import {
  execute,
  fundedWallet,
  type LocalSvm,
  putAccount,
  startLocalSvm,
} from '../support/nodes/local-svm.ts'
import {
  addDlmm,
  type DlmmChange,
  putDlmm,
  type RecordedDlmm,
  recordedDlmm,
  setClock,
  type TestBin,
} from '../support/nodes/meteora-dlmm.ts'
import { putTokenAccount } from '../support/nodes/whirlpool.ts'

const HOLDS = 10n ** 18n
const MAX_BINS = 40
/** Later than the accounts were recorded. */
const [START_S, SLOT] = [1_790_000_000, 500_000_000]

let node: LocalSvm
let owner = ''
let nowS = START_S
const accounts = ['account x', 'account y'].map(addressFor) as [string, string]
/** Recorded before there were limit orders; made for tests with orders, and fees in Y; with a token of Token-2022. */
const [OLD, ORDERS, TOKEN_2022] = recordedDlmm() as [RecordedDlmm, RecordedDlmm, RecordedDlmm]

before(async () => {
  node = await startLocalSvm()
  addDlmm(node)
  owner = (await fundedWallet(node, 1, 50n * 10n ** 9n)).address
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

/** What the account of a token holds. */
const tokensIn = (key: string): bigint => Buffer.from(dataOf(key)).readBigUInt64LE(64)

const dataOf = (key: string): Uint8Array => accountOf(key)?.data ?? new Uint8Array()

const mintsOf = (pool: string): readonly [string, string] => {
  const keyAt = (at: number) => base58Encode(dataOf(pool).subarray(at, at + 32))
  return [keyAt(DLMM_PAIR.mintX), keyAt(DLMM_PAIR.mintY)]
}

const headOf = (pool: string): AccountPoolHead => {
  const [x, y] = mintsOf(pool)
  return {
    kind: 'dlmm',
    address: pool,
    protocol: 'meteora_dlmm',
    tokens: x < y ? [x, y] : [y, x],
    tvlUsd: null,
  }
}

const foundOf = async (pool: string) => {
  const further = await dlmmFamily.accounts(pool, dataOf(pool))
  return further.map((key) => ({ address: key, account: accountOf(key) }))
}

/** The pool as its accounts are now. */
const readPool = async (
  pool: string,
  { slot = SLOT, head = headOf(pool) }: { slot?: number; head?: AccountPoolHead } = {},
): Promise<DlmmPool | null> => {
  setClock(node, nowS, slot)
  const read = dlmmFamily.pool(head, dataOf(pool), await foundOf(pool))
  if (read === null) return null
  assert.ok(read.kind === 'dlmm')
  return read
}

type Limits = Pick<VenueSwap, 'mode' | 'amountInRaw' | 'minOutRaw' | 'maxInRaw'>

/** What a swap of ours moved; undefined where the program refuses it. */
const swapped = async (
  pool: Pool,
  sellsX: boolean,
  swap: Limits,
): Promise<{ readonly paid: bigint; readonly got: bigint } | undefined> => {
  const mints = mintsOf(pool.address)
  const programs = mints.map((mint) => accountOf(mint)?.owner ?? '')
  for (const side of [0, 1] as const) {
    putTokenAccount(node, accounts[side], { mint: mints[side], owner, amount: HOLDS })
    putAccount(node, accounts[side], { owner: programs[side] ?? '', data: dataOf(accounts[side]) })
  }
  const [sold, bought] = sellsX ? ([0, 1] as const) : ([1, 0] as const)
  const call = await solanaVenue('meteora_dlmm')?.swap(
    {
      pool: pool.address,
      owner,
      tokenIn: mints[sold],
      tokenOut: mints[bought],
      programIn: programs[sold] ?? '',
      programOut: programs[bought] ?? '',
      accountIn: accounts[sold],
      accountOut: accounts[bought],
      ...swap,
    },
    { pool: dataOf(pool.address), config: new Uint8Array(), quoted: pool },
  )
  assert.ok(call)
  node.svm.expireBlockhash()
  const lifetime = { blockhash: node.svm.latestBlockhash(), lastValidBlockHeight: 300 }
  try {
    execute(node, unsignedTransaction(owner, lifetime, [...computeBudget(firstLimit(), 0n), call]))
  } catch (error) {
    assert.match(String(error), /Program log: AnchorError/)
    return undefined
  }
  return { paid: HOLDS - tokensIn(accounts[sold]), got: tokensIn(accounts[bought]) - HOLDS }
}

const quoteOf = (pool: Pool, sellsX: boolean, mode: VenueSwap['mode'], amount: bigint) =>
  (mode === 'exact_in' ? quoteExactIn : quoteExactOut)(
    pool,
    mintsOf(pool.address)[sellsX ? 0 : 1],
    amount,
  )

/** Quotes a swap, makes it with these very amounts as its limits, and compares. */
const compare = async (
  place: string,
  sellsX: boolean,
  mode: VenueSwap['mode'],
  amount: bigint,
): Promise<AmountQuote> => {
  const pool = await readPool(place)
  assert.ok(pool)
  const quote = quoteOf(pool, sellsX, mode, amount)
  // What takes more bins than a run has computation for is not asked of the program.
  if ('refused' in quote && quote.steps > MAX_BINS) return quote
  const other = 'refused' in quote ? undefined : quote.amountRaw
  const limits =
    mode === 'exact_in'
      ? { amountInRaw: amount, maxInRaw: amount, minOutRaw: other ?? 0n }
      : { amountInRaw: other ?? 0n, maxInRaw: other ?? 2n ** 63n, minOutRaw: amount }
  const done = await swapped(pool, sellsX, { mode, ...limits })
  const [paid, got] = mode === 'exact_in' ? [amount, other] : [other, amount]
  const expected = other === undefined ? undefined : { paid, got }
  assert.deepEqual(done, expected, `${place} ${sellsX} ${mode} ${amount}`)
  return quote
}

/** The largest power of two that is quoted. */
const largestQuoted = (pool: Pool, sellsX: boolean, mode: VenueSwap['mode']): bigint => {
  for (let bits = 58n; bits > 0n; bits -= 1n) {
    if ('amountRaw' in quoteOf(pool, sellsX, mode, 1n << bits)) return 1n << bits
  }
  return 1n
}

interface Counts {
  quoted: number
  crossing: number
  otherArray: number
  variableFee: number
  refused: number
  readonly ways: Map<string, number>
}

/** Swaps of random amounts and ways one after the other, with random pauses, from a small part of what a pool takes up to more than that. */
const swapAround = async (
  place: string,
  below: ReturnType<typeof numbersFrom>,
  swaps: number,
  counts: Counts,
): Promise<void> => {
  for (let each = 0; each < swaps; each += 1) {
    const [sellsX, mode] = [below(2) === 0, below(2) === 0 ? 'exact_in' : 'exact_out'] as const
    nowS += below(3) === 0 ? below(1_500) : below(40)
    const pool = await readPool(place)
    assert.ok(pool)
    const most = largestQuoted(pool, sellsX, mode)
    const part = (most * BigInt(1 + below(each % 3 === 0 ? 2_400 : 1_000))) / 1_000n
    const amount = (each % 4 === 1 ? BigInt(below(2_000)) : part) + 1n
    const quote = await compare(place, sellsX, mode, amount)
    if ('refused' in quote) {
      counts.refused += 1
      continue
    }
    const after = await readPool(place)
    const arrayOf = (read: DlmmPool | null) => Math.floor((read?.activeBin ?? 0) / 70)
    counts.quoted += 1
    if (quote.steps > 2) counts.crossing += 1
    if (arrayOf(after) !== arrayOf(pool)) counts.otherArray += 1
    if (pool.volatilityReference > 0 || (after?.volatility ?? 0) > 0) counts.variableFee += 1
    const way = `${sellsX ? 'sells' : 'buys'} x ${mode}`
    counts.ways.set(way, (counts.ways.get(way) ?? 0) + 1)
  }
}

const noCounts = (): Counts => {
  const none = { quoted: 0, crossing: 0, otherArray: 0, variableFee: 0, refused: 0 }
  return { ...none, ways: new Map() }
}

/** What was in the place of limit orders before there were any, taken away. */
const withoutOldSums = (data: Buffer): void => {
  for (let bin = 0; bin < 70; bin += 1) data.fill(0, 56 + bin * 144 + 112, 56 + bin * 144 + 144)
}

test('random swaps over the recorded pools move what the quote says, to the unit', async () => {
  const counts = noCounts()
  for (const [number, recorded] of [OLD, ORDERS, TOKEN_2022].entries()) {
    await putDlmm(node, recorded, recorded === OLD ? { array: withoutOldSums } : {})
    await swapAround(recorded.pool, numbersFrom(100 + number), 40, counts)
  }
  assert.ok(counts.quoted >= 60 && counts.crossing >= 25 && counts.otherArray >= 5, text(counts))
})

const text = ({ ways, ...counts }: Counts): string => JSON.stringify([counts, ...ways])

/** Bins around the price: some empty, some with orders, in arrays on both sides. */
const randomBins = (active: number, below: ReturnType<typeof numbersFrom>, density: number) => {
  const amount = (): bigint => BigInt(1 + below(1_000)) * 10n ** BigInt(below(9))
  const bins: TestBin[] = []
  for (let bin = active - 320; bin <= active + 320; bin += 1) {
    if (bin !== active && below(100) >= density) continue
    const held = { x: bin >= active ? amount() : 0n, y: bin <= active ? amount() : 0n }
    // Orders that sell X are above the price, those that sell Y below it.
    const sellX = bin > active || (bin === active && below(2) === 0)
    const orders = { sellX, begun: bin === active ? amount() : 0n, open: amount() }
    bins.push({ bin, ...held, ...(below(3) === 0 ? { orders } : {}) })
  }
  return bins
}

const randomChange = (number: number): DlmmChange => {
  const below = numbersFrom(number + 1)
  const one = <T>(...values: readonly T[]): T => values[below(values.length)] as T
  const binStep = one(1, 2, 5, 10, 25, 80, 100, 400)
  const reach = Math.min(20_000, Math.floor(50_000 / binStep))
  const active = below(2 * reach) - reach
  return {
    bins: randomBins(active, below, one(4, 15, 60)),
    pair: (data) => {
      data.writeUInt16LE(one(0, 1, 5_000, 10_000, 60_000), DLMM_PAIR.baseFactor)
      data.writeUInt16LE(one(0, 10, 30, 300), DLMM_PAIR.filterPeriod)
      data.writeUInt16LE(one(30, 120, 600, 1_200), DLMM_PAIR.decayPeriod)
      data.writeUInt16LE(one(0, 5_000, 9_999), DLMM_PAIR.reductionFactor)
      data.writeUInt32LE(one(0, 7_500, 40_000, 2_000_000), DLMM_PAIR.variableFeeControl)
      data.writeUInt32LE(one(100_000, 350_000), DLMM_PAIR.maxVolatility)
      data.writeUInt8(one(0, 0, 1, 2), DLMM_PAIR.baseFeePower)
      data.writeUInt8(one(0, 1, 2, 2), DLMM_PAIR.functionType)
      data.writeUInt8(one(0, 1), DLMM_PAIR.collectFeeMode)
      data.writeUInt32LE(below(100_000), DLMM_PAIR.volatility)
      data.writeUInt32LE(below(50_000), DLMM_PAIR.volatilityReference)
      data.writeInt32LE(active + below(9) - 4, DLMM_PAIR.binReference)
      data.writeBigInt64LE(BigInt(nowS - below(1_300)), DLMM_PAIR.updatedAt)
      data.writeInt32LE(active, DLMM_PAIR.activeBin)
      data.writeUInt16LE(binStep, DLMM_PAIR.binStep)
    },
  }
}

test('random swaps over pools with other terms and bins move what the quote says, to the unit', async () => {
  const counts = noCounts()
  for (let number = 0; number < 40; number += 1) {
    await putDlmm(node, ORDERS, randomChange(number))
    await swapAround(ORDERS.pool, numbersFrom(1_000 + number), 8, counts)
  }
  const { quoted, crossing, otherArray, variableFee, refused, ways } = counts
  assert.ok(quoted >= 200 && crossing >= 100 && otherArray >= 40 && refused >= 15, text(counts))
  assert.ok(variableFee >= 100, text(counts))
  assert.ok(ways.size === 4 && [...ways.values()].every((count) => count >= 30), text(counts))
})

test('the price of every recorded bin is the one that is computed', async () => {
  let compared = 0
  for (const { pool, accounts: recorded } of [OLD, ORDERS, TOKEN_2022]) {
    const binStep = recorded[0]?.data.readUInt16LE(DLMM_PAIR.binStep) ?? 0
    for (const { data } of recorded.filter((account) => account.data.length === 10_136)) {
      const array = Number(data.readBigInt64LE(8))
      for (const { bin, price } of readDlmmArray(
        { data },
        { pool, array },
        { orders: 'none', binStep },
      ) ?? []) {
        assert.equal(dlmmPriceOfBin(bin, binStep), price)
        compared += 1
      }
    }
  }
  assert.ok(compared >= 150)
  assert.equal(dlmmPriceOfBin(0x80000, 1), undefined)
  assert.equal(dlmmPriceOfBin(-443_636, 400), undefined)
})

test('the largest amount that the arrays of a pool take is swapped, and not a unit more', async () => {
  for (const recorded of [OLD, ORDERS, TOKEN_2022]) {
    // A tenth of the bins, so that all arrays that are read have few enough.
    const bins = randomBins(0, numbersFrom(9), 10).map(({ bin, x, y }) => ({ bin, x, y }))
    const change: DlmmChange = { bins, pair: flatPair(0) }
    for (const sellsX of [true, false]) {
      for (const mode of ['exact_in', 'exact_out'] as const) {
        await putDlmm(node, recorded, change)
        const pool = await readPool(recorded.pool)
        assert.ok(pool)
        let [low, high] = [1n, 1n << 58n]
        while (high - low > 1n) {
          const middle = (low + high) / 2n
          if ('amountRaw' in quoteOf(pool, sellsX, mode, middle)) low = middle
          else high = middle
        }
        const beyond = await compare(recorded.pool, sellsX, mode, high)
        assert.equal('refused' in beyond && beyond.refused, 'beyond_known_ticks')
        await putDlmm(node, recorded, change)
        await compare(recorded.pool, sellsX, mode, low)
      }
    }
  }
})

/** A pool at a bin, with the same fee in every bin. */
const flatPair = (active: number) => (data: Buffer) => {
  data.writeInt32LE(active, DLMM_PAIR.activeBin)
  data.writeUInt32LE(0, DLMM_PAIR.variableFeeControl)
  data.writeUInt8(1, DLMM_PAIR.version)
}

test('a swap over more bins than a run has computation for has no quote', async () => {
  const bins = Array.from({ length: 60 }, (_, bin) => ({ bin: -bin, x: 0n, y: 1_000n }))
  await putDlmm(node, ORDERS, { bins, pair: flatPair(0) })
  const pool = await readPool(ORDERS.pool)
  assert.ok(pool)
  const most = quoteOf(pool, true, 'exact_out', 1_000n * 39n)
  assert.ok('amountRaw' in most)
  await compare(ORDERS.pool, true, 'exact_out', 1_000n * 39n)
  assert.equal('refused' in quoteOf(pool, true, 'exact_out', 1_000n * 41n), true)
})

test('the fee of a quote is in what is sold, also where the pool takes it of what is bought', async () => {
  for (const feeMode of [0, 1]) {
    const bins = [{ bin: 300, x: 10n ** 15n, y: 10n ** 15n }]
    const pair = (data: Buffer) => {
      flatPair(300)(data)
      data.writeUInt8(feeMode, DLMM_PAIR.collectFeeMode)
    }
    await putDlmm(node, ORDERS, { bins, pair })
    const pool = await readPool(ORDERS.pool)
    assert.ok(pool)
    for (const sellsX of [true, false]) {
      const tokenIn = mintsOf(pool.address)[sellsX ? 0 : 1]
      const quote = quoteOf(pool, sellsX, 'exact_in', 10n ** 12n)
      assert.ok('amountRaw' in quote && quote.feeRaw !== undefined)
      assert.ok(quote.feeRaw - BigInt(pool.feePips) * 10n ** 6n <= 1n)
      assert.ok(quote.feeRaw >= BigInt(pool.feePips) * 10n ** 6n)
      const { of, by } = spotPrice(pool, tokenIn)
      const expected = ((10n ** 12n - quote.feeRaw) * of) / by
      assert.ok(expected >= quote.amountRaw && expected - quote.amountRaw <= 2n)
    }
    assert.equal(dlmmPriceOfBin(300, 10), spotPriceOfX(pool))
  }
})

const spotPriceOfX = (pool: Pool): bigint => {
  const { of, by } = spotPrice(pool, mintsOf(pool.address)[0])
  return (of << DLMM_PRICE_BITS) / by
}

test('what stood in the place of orders before there were any is not quoted as liquidity', async () => {
  await putDlmm(node, OLD)
  assert.equal(await readPool(OLD.pool), null, 'it could be orders')
  await putDlmm(node, OLD, { pair: (data) => data.writeUInt8(1, DLMM_PAIR.functionType) })
  const counts = noCounts()
  await swapAround(OLD.pool, numbersFrom(5), 20, counts)
  assert.ok(counts.quoted >= 12 && counts.crossing >= 5, text(counts))
})

test('a pool has no quote while it does not trade, and the program agrees', async () => {
  const at = (pair: (data: Buffer) => void) => putDlmm(node, ORDERS, { pair })
  await at(() => undefined)
  const open = await readPool(ORDERS.pool)
  assert.ok(open)
  const swap: Limits = {
    mode: 'exact_in',
    amountInRaw: 10n ** 6n,
    maxInRaw: 10n ** 6n,
    minOutRaw: 0n,
  }
  const isRefused = async () => (await swapped(open, true, swap)) === undefined
  const opensAt = (byTime: number, point: bigint) => (data: Buffer) => {
    data.writeUInt8(byTime, DLMM_PAIR.activationType)
    data.writeBigUInt64LE(point, DLMM_PAIR.activationPoint)
  }
  for (const pair of [
    (data: Buffer) => data.writeUInt8(1, DLMM_PAIR.status),
    opensAt(0, BigInt(SLOT + 1)),
    opensAt(1, BigInt(nowS + 1)),
  ]) {
    await at(pair)
    assert.equal(await readPool(ORDERS.pool), null)
    assert.equal(await isRefused(), true)
  }
  for (const pair of [opensAt(0, BigInt(SLOT)), opensAt(1, BigInt(nowS))]) {
    await at(pair)
    assert.ok(await readPool(ORDERS.pool))
    assert.equal(await isRefused(), false)
  }
  await at(opensAt(0, BigInt(SLOT)))
  assert.equal(await readPool(ORDERS.pool, { slot: SLOT - 1 }), null)
})

test('a pool has no quote where something of it is not known here', async () => {
  const numbers = [
    [DLMM_PAIR.pairType, 4],
    [DLMM_PAIR.functionType, 3],
    [DLMM_PAIR.collectFeeMode, 2],
    [DLMM_PAIR.activationType, 2],
  ] as const
  for (const [at, value] of numbers) {
    await putDlmm(node, ORDERS, { pair: (data) => data.writeUInt8(value, at) })
    assert.equal(await readPool(ORDERS.pool), null)
    assert.deepEqual(await dlmmFamily.accounts(ORDERS.pool, dataOf(ORDERS.pool)), [])
  }
  await putDlmm(node, ORDERS, { pair: (data) => data.writeInt32LE(70 * 512, DLMM_PAIR.activeBin) })
  assert.equal(await readPool(ORDERS.pool), null, 'beyond its own bitmap')
  await putDlmm(node, TOKEN_2022, { keepMints: true })
  assert.equal(await readPool(TOKEN_2022.pool), null, 'a token with a fee on transfers')
  await putDlmm(node, ORDERS)
  const head = headOf(ORDERS.pool)
  const another = [head.tokens[0], addressFor('another')] as const
  assert.equal(await readPool(ORDERS.pool, { head: { ...head, tokens: another } }), null)
})

test('an account that is not what it should be leaves no quote, one that is missing ends what is known', async () => {
  await putDlmm(node, ORDERS)
  const [head, data] = [headOf(ORDERS.pool), dataOf(ORDERS.pool)]
  const found = await foundOf(ORDERS.pool)
  assert.equal(found.length, 5)
  const read = (at: number, change: (account: SolanaAccount) => SolanaAccount | undefined) => {
    const changed = found.map((each, index) =>
      index === at && each.account ? { ...each, account: change(each.account) } : each,
    )
    return dlmmFamily.pool(head, data, changed)
  }
  assert.ok(read(0, (account) => account))
  const short = (account: SolanaAccount) => ({ ...account, data: account.data.subarray(1) })
  const foreign = (account: SolanaAccount) => ({ ...account, owner: addressFor('a program') })
  const flipped = (at: number) => (account: SolanaAccount) => {
    const bytes = Uint8Array.from(account.data)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    return { ...account, data: bytes }
  }
  for (const change of [short, foreign, flipped(0), flipped(8), flipped(24)]) {
    assert.equal(read(0, change), null)
  }
  for (const change of [short, foreign, () => undefined]) {
    assert.equal(read(2, change), null, 'the clock')
    assert.equal(read(4, change), null, 'a mint')
  }
  const cut = read(1, () => undefined)
  assert.ok(cut?.kind === 'dlmm')
  const refused = quoteOf(cut, true, 'exact_in', 1n << 50n)
  assert.equal('refused' in refused && refused.refused, 'beyond_known_ticks')
  assert.deepEqual(cut.binArrays.sellingX, [found[0]?.address])
  const without = read(0, () => undefined)
  assert.deepEqual(without?.kind === 'dlmm' && without.binArrays.sellingX, [])
  assert.deepEqual(await dlmmFamily.accounts(ORDERS.pool, data.subarray(1)), [])
  assert.equal(dlmmFamily.pool(head, data, found.slice(1)), null)
})
