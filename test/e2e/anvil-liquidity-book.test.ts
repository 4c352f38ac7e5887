/** Quotes over bins against what real contracts of Liquidity Book on a real node pay. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Address, parseAbi, parseEther } from 'viem'
import { quoteExactIn, quoteExactOut } from '../../serving/dex/pool.ts'
import { createPoolBook, type PoolBook } from '../../serving/dex/pool-book.ts'
import { chainVenues } from '../../serving/dex/quotable-protocols.ts'
import {
  type PoolBinRow,
  type PoolStateRow,
  poolBinsQuery,
  poolStatesQuery,
} from '../../serving/queries/pool-states.ts'
import { startAnvilStack } from '../support/anvil-stack.ts'
import { createSeededRandom } from '../support/builders/market-trade.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import {
  type BookMarket,
  type BookSwap,
  type BookVenue,
  deployBookMarket,
  FEE_TERMS,
} from '../support/nodes/book-market.ts'

const ERC20 = parseAbi(['function balanceOf(address) view returns (uint256)'])
const PAIR = parseAbi([
  'function getBin(uint24 id) view returns (uint128, uint128)',
  'function getActiveId() view returns (uint24)',
])
const MONTH_S = 30 * 86_400
/** Rounds of a deposit or another change, and four swaps. */
const ROUNDS = Number(process.env.SWAP_TEST_SWAPS ?? 5)

let anvil: Anvil
let market: BookMarket
let product: Awaited<ReturnType<typeof startAnvilStack>>

before(async () => {
  // Time passes on the chain alone, so it begins a while ago.
  anvil = await startAnvil(['--timestamp', String(Math.floor(Date.now() / 1_000) - MONTH_S)])
  market = await deployBookMarket(anvil.client)
  product = await startAnvilStack(anvil, { extra: market.extra })
})
after(async () => {
  await product.stop()
  await anvil.stop()
})

const makeBook = (): PoolBook =>
  createPoolBook(chainVenues('eth', market.extra), { minTvlUsd: 1_000, poolsPerPair: 8 })

/** The states of the pools as the newest block left them, from the topic alone. */
const bookNow = async (): Promise<PoolBook> => {
  await product.caughtUp()
  const book = makeBook()
  const name = 'eth.dex.pools.processed'
  const records = await product.product.topic(name, 'dex.pool.DexPoolEvents')
  for (const record of records) book.accept(record)
  return book
}

const held = (token: Address): Promise<bigint> =>
  anvil.client.readContract({
    address: token,
    abi: ERC20,
    functionName: 'balanceOf',
    args: [devAccount(0).address],
  })

const chainTimeS = async (): Promise<number> =>
  Number((await anvil.client.getBlock({ blockTag: 'latest' })).timestamp)

/** What the first account pays and gets while `work` runs. */
const moved = async (
  { tokenX, tokenY }: BookVenue['pair'],
  sellsX: boolean,
  work: () => Promise<unknown>,
) => {
  const [sold, bought] = sellsX ? [tokenX, tokenY] : [tokenY, tokenX]
  const before = [await held(sold), await held(bought)] as const
  await work()
  return { paid: before[0] - (await held(sold)), got: (await held(bought)) - before[1] }
}

/** Quotes a swap for a second and mines it in a block of that second; false where the pool does not have as much. */
const swapAsQuoted = async (
  book: PoolBook,
  venue: BookVenue,
  wanted: BookSwap,
  atS: number,
): Promise<boolean> => {
  const { pair } = venue
  const pool = book.pool(pair.address.toLowerCase(), atS * 1_000)
  assert.ok(pool?.kind === 'bins', 'the pool is known')
  const sold = (wanted.sellsX ? pair.tokenX : pair.tokenY).toLowerCase()
  const quote = (wanted.exactIn ? quoteExactIn : quoteExactOut)(pool, sold, wanted.amount)
  if ('refused' in quote) return false
  const { paid, got } = await moved(pair, wanted.sellsX, async () => {
    await anvil.client.setNextBlockTimestamp({ timestamp: BigInt(atS) })
    await venue.swap(wanted)
  })
  const name = JSON.stringify({ dex: venue.dex, ...wanted, amount: String(wanted.amount), atS })
  if (wanted.exactIn) {
    assert.deepEqual([paid, got], [wanted.amount, quote.amountRaw], name)
  } else {
    assert.equal(paid, quote.amountRaw, name)
    assert.ok(got >= wanted.amount, name)
  }
  return true
}

/** Every bin of the book as the pair has it, and the active one. */
const assertSameBins = async (book: PoolBook, { pair }: BookVenue): Promise<void> => {
  const contract = { address: pair.address, abi: PAIR } as const
  const pool = book.pool(pair.address.toLowerCase(), 0)
  assert.ok(pool?.kind === 'bins')
  const active = await anvil.client.readContract({ ...contract, functionName: 'getActiveId' })
  assert.equal(pool.activeBin, active)
  const bins = new Map(pool.bins.map(({ bin, x, y }) => [bin, [x, y] as const]))
  for (let bin = active - 45; bin <= active + 45; bin += 1) {
    const kept = await anvil.client.readContract({
      ...contract,
      functionName: 'getBin',
      args: [bin],
    })
    assert.deepEqual(bins.get(bin) ?? [0n, 0n], kept, `bin ${bin}`)
  }
}

/** Something that changes a pair beside swaps. */
const changePair = async ({ contracts, pair }: BookVenue, random: () => number): Promise<void> => {
  const reach = () => Math.floor(random() * 12)
  const amounts = [
    parseEther((30 * random()).toFixed(18)),
    parseEther((60_000 * random()).toFixed(18)),
  ] as const
  const changes = [
    () => contracts.deposit(pair, { above: reach(), below: reach() }, amounts),
    () => contracts.deposit(pair, { above: 0, below: 0 }, [amounts[0], amounts[1] / 7n]),
    () => contracts.withdraw(pair, 6, BigInt(1 + Math.floor(random() * 70))),
    () => contracts.borrow(pair, [amounts[0] / 10n, amounts[1] / 10n]),
    () => contracts.forceDecay(pair),
    () => contracts.collectFees(pair),
    () => {
      const [, ...rest] = FEE_TERMS
      return contracts.setTerms(pair, [10_000 + Math.floor(random() * 20_000), ...rest])
    },
  ]
  await changes[Math.floor(random() * changes.length)]?.()
}

for (const version of ['v2_1', 'v2_2'] as const) {
  test(`${version}: swaps both ways, exact on either side, pay what was quoted while time passes and liquidity moves`, async () => {
    const venue = market[version]
    const random = createSeededRandom(version === 'v2_1' ? 11 : 13)
    let done = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      await changePair(venue, random)
      // Within the filter period, before and after the decay of the volatility.
      for (const pauseS of [1, 3, 31 + Math.floor(random() * 500), 700]) {
        const [sellsX, exactIn] = [random() < 0.5, random() < 0.6]
        const share = random() ** 3 * 0.3
        const inX = sellsX === exactIn
        const amount = parseEther(((inX ? 400 : 800_000) * share).toFixed(18)) + 1n
        const atS = (await chainTimeS()) + pauseS
        const book = await bookNow()
        if (await swapAsQuoted(book, venue, { sellsX, exactIn, amount }, atS)) done += 1
      }
    }
    assert.ok(done > ROUNDS * 2, `${done} swaps were made`)
    await assertSameBins(await bookNow(), venue)
  })
}

test('a swap for more than the bins hold is refused here and by the pair', async () => {
  const { v2_2: venue } = market
  const atS = (await chainTimeS()) + 1
  const wanted = { sellsX: true, exactIn: true, amount: parseEther('100000') }
  assert.equal(await swapAsQuoted(await bookNow(), venue, wanted, atS), false)
  await assert.rejects(venue.swap(wanted))
})

/** A pool apart from what it is worth, which the topic tells one event later. */
const stateOf = (book: PoolBook, { pair }: BookVenue) => {
  const pool = book.pool(pair.address.toLowerCase(), 0)
  assert.ok(pool?.kind === 'bins')
  const { tvlUsd: _value, ...state } = pool
  return state
}

test('what the tables hold makes the same pools as the topic', async () => {
  const book = await bookNow()
  const deep = book.pool(market.v2_2.pair.address.toLowerCase(), 0)
  assert.ok((deep?.tvlUsd ?? 0) > 100_000)
  const { warehouse } = product.product.app
  const stored = makeBook()
  const families = ['lfj_v2_1', 'lfj_v2_2']
  const pools = await warehouse.query<PoolStateRow>(poolStatesQuery('eth', families, 100))
  const bins = await warehouse.query<PoolBinRow>(poolBinsQuery('eth', 10_000))
  stored.load(pools.rows, [], bins.rows)
  for (const venue of [market.v2_1, market.v2_2, market.second])
    assert.deepEqual(stateOf(stored, venue), stateOf(book, venue))
})

test('a reorg restores the bins', async () => {
  const { v2_1: venue } = market
  const before = stateOf(await bookNow(), venue)
  await venue.swap({ sellsX: true, exactIn: true, amount: parseEther('40') })
  await venue.contracts.deposit(venue.pair, { above: 2, below: 2 }, [parseEther('3'), 5_000n])
  assert.notDeepEqual(stateOf(await bookNow(), venue), before)
  await anvil.client.request({ method: 'anvil_reorg' as never, params: [2, []] as never })
  await anvil.client.mine({ blocks: 1 })
  assert.deepEqual(stateOf(await bookNow(), venue), before)
})
