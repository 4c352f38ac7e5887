import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Address, type Hex, parseEther, zeroAddress } from 'viem'
import {
  type Ingested,
  type IngestedTrade,
  type IngestRequest,
  ingestBlocks,
  verifyPools,
} from '../support/ingest-node.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import { deployVault, type VaultMarket, type VaultPool } from '../support/nodes/balancer-v2.ts'
import { deployV4Market, type V4Market, type V4Pool } from '../support/nodes/uniswap-v4.ts'

/** A pool's tokens before and after a transaction, which has a block of its own. */
type Moved = ReadonlyMap<string, bigint>

const OWNER = devAccount(0).address.toLowerCase()
const CHANGE = {
  opened: 'DEX_POOL_EVENT_TYPE_INITIALIZE',
  more: 'DEX_POOL_EVENT_TYPE_INCREASE_LIQUIDITY',
  less: 'DEX_POOL_EVENT_TYPE_DECREASE_LIQUIDITY',
} as const

const low = (address: Address): string => address.toLowerCase()

/** What was there afterwards, less what was there before; what did not move is left out. */
const difference = (before: Moved, after: Moved): Moved =>
  new Map(
    [...after]
      .map(([token, amount]) => [token, amount - (before.get(token) ?? 0n)] as const)
      .filter(([, amount]) => amount !== 0n),
  )

/** What a trade did to its pool. */
const movedBy = ({ tokenIn, tokenOut, inRaw, outRaw }: IngestedTrade): Moved =>
  new Map([
    [tokenIn, inRaw],
    [tokenOut, -outRaw],
  ])

const placeOf = async (anvil: Anvil, hash: Hex): Promise<bigint> =>
  (await anvil.client.getTransactionReceipt({ hash })).blockNumber

const head = (anvil: Anvil): Promise<number> =>
  anvil.client.getBlockNumber({ cacheTime: 0 }).then(Number)

describe('pools whose tokens one contract keeps, on a real node', () => {
  let anvil: Anvil
  let vault: VaultMarket
  let manager: V4Market
  /** Newest block of both deployments. */
  let deployed: number

  before(async () => {
    anvil = await startAnvil()
    vault = await deployVault(anvil.client)
    manager = await deployV4Market(anvil.client)
    deployed = await head(anvil)
  })
  after(() => anvil.stop())

  const wanted = async (extra: IngestRequest['extra'], from = 0): Promise<IngestRequest> => ({
    url: anvil.wsUrl,
    extra,
    from,
    to: await head(anvil),
  })

  describe("Balancer V2's Vault", () => {
    const swaps: { readonly hash: Hex; readonly pools: readonly VaultPool[] }[] = []
    const changes: { readonly hash: Hex; readonly pool: VaultPool; readonly type: string }[] = []
    let run: Ingested

    /** What the Vault's books say that a transaction did to a pool. */
    const bookedBy = async (hash: Hex, pool: VaultPool): Promise<Moved> => {
      const at = await placeOf(anvil, hash)
      return difference(await vault.books(pool, at - 1n), await vault.books(pool, at))
    }

    before(async () => {
      const { pools, tokens } = vault
      const { usd, weth, token } = tokens
      const { two, three } = pools
      const swap = async (pool: VaultPool, order: Parameters<VaultMarket['swap']>[1]) => {
        swaps.push({ hash: await vault.swap(pool, order), pools: [pool] })
      }
      await swap(three, { give: usd, take: weth, amount: parseEther('1000') })
      await swap(three, { give: token, take: usd, amount: parseEther('777'), of: 'out' })
      await swap(two, { give: zeroAddress, take: token, amount: parseEther('1.5') })
      await swap(two, { give: token, take: zeroAddress, amount: parseEther('900') })
      await swap(three, { give: usd, take: token, amount: parseEther('50'), kept: true })
      swaps.push({ hash: await vault.routed(parseEther('400')), pools: [three, two] })
      const change = async (pool: VaultPool, type: string, hash: Promise<Hex>) => {
        changes.push({ hash: await hash, pool, type })
      }
      const each = [parseEther('7'), parseEther('8'), parseEther('9')]
      await change(three, CHANGE.more, vault.join(three, each))
      await change(three, CHANGE.more, vault.join(three, [0n, parseEther('3'), 0n]))
      await change(three, CHANGE.less, vault.exit(three, parseEther('5')))
      await change(two, CHANGE.less, vault.exitOne(two, parseEther('1'), 1))
      run = await ingestBlocks(await wanted(vault.extra))
    })

    test("a swap gives a trade for each of its pools, with the amounts of the Vault's logs", async () => {
      const { trades } = run
      assert.deepEqual(
        trades.map(({ hash, pool }) => [hash, pool]),
        swaps.flatMap(({ hash, pools }) => pools.map(({ address }) => [hash, address])),
      )
      for (const { hash, pools } of swaps) {
        for (const pool of pools) {
          const trade = trades.find((each) => each.hash === hash && each.pool === pool.address)
          assert.ok(trade)
          assert.deepEqual(
            new Map([...movedBy(trade)].sort()),
            new Map([...(await bookedBy(hash, pool))].sort()),
          )
          assert.equal(trade.protocol, 'balancer_v2')
          assert.equal(trade.factory, vault.vault)
          assert.equal(trade.vault, vault.vault)
          assert.equal(trade.trader, OWNER)
        }
      }
    })

    test("joins and exits move the amounts of the Vault's logs, for pools of three tokens as well", async () => {
      for (const { hash, pool, type } of changes) {
        const told = run.changes.filter((each) => each.hash === hash)
        assert.equal(told.length, pool.tokens.length - 1, 'a change for each pair')
        const sums = new Map<string, bigint>()
        for (const each of told) {
          assert.equal(each.type, type)
          assert.equal(each.pool, pool.address)
          assert.equal(each.vault, vault.vault)
          assert.equal(each.owner, OWNER)
          for (const [token, amount] of each.moved) {
            const signed = type === CHANGE.less ? -amount : amount
            sums.set(token, (sums.get(token) ?? 0n) + signed)
          }
        }
        assert.deepEqual(
          new Map([...difference(new Map(), sums)].sort()),
          new Map([...(await bookedBy(hash, pool))].sort()),
        )
      }
      const opened = run.changes.filter(({ type }) => type === CHANGE.opened)
      const { three, two } = vault.pools
      assert.deepEqual(
        opened.map(({ pool }) => pool),
        [three.address, two.address],
      )
      for (const each of opened) assert.equal(each.vault, vault.vault)
    })

    test('the node proves pools whose registration was not seen, and they trade the same', async () => {
      const late = await wanted(vault.extra, deployed + 1)
      const rest = await ingestBlocks(late)
      assert.deepEqual(rest.trades, run.trades)
      const after = new Set<string>(changes.map(({ hash }) => hash))
      assert.deepEqual(
        rest.changes,
        run.changes.filter(({ hash }) => after.has(hash)),
      )
      const family = 'balancer_v2'
      const facts = await verifyPools(
        late,
        Object.values(vault.pools).map(({ address }) => ({ address, family })),
      )
      assert.deepEqual(
        facts,
        Object.values(vault.pools).map(({ address, tokens }) => ({
          address,
          protocol: family,
          factory: vault.vault,
          feePips: null,
          verified: true,
          tokenA: low(tokens[0] ?? '0x'),
          tokenB: low(tokens[1] ?? '0x'),
          ...(tokens.length > 2 && { coins: tokens.map(low) }),
        })),
      )
    })
  })

  describe("Uniswap V4's PoolManager", () => {
    const swaps: { readonly hash: Hex; readonly pool: V4Pool }[] = []
    let decreased: Hex
    let run: Ingested

    /** The coin under the name that trades have for it. */
    const named = (token: Address): string =>
      low(token === zeroAddress ? manager.tokens.weth : token)

    /** What a transaction left with the PoolManager, by token. */
    const heldBy = async (hash: Hex, { key }: V4Pool): Promise<Moved> => {
      const at = await placeOf(anvil, hash)
      const [one, other] = key
      const around = async (place: bigint): Promise<Moved> =>
        new Map([
          [named(one), await manager.held(one, place)],
          [named(other), await manager.held(other, place)],
        ])
      return difference(await around(at - 1n), await around(at))
    }

    before(async () => {
      const { tokens, coin, keyless } = manager.pools
      const swap = async (pool: V4Pool, order: Parameters<V4Market['swap']>[1]) => {
        swaps.push({ hash: await manager.swap(pool, order), pool })
      }
      await swap(tokens, { zeroForOne: true, amount: -parseEther('10') })
      await swap(tokens, { zeroForOne: false, amount: parseEther('7') })
      await swap(coin, { zeroForOne: true, amount: -parseEther('2') })
      await swap(coin, { zeroForOne: false, amount: parseEther('0.5') })
      decreased = await manager.decrease(parseEther('1000'))
      await swap(tokens, { zeroForOne: true, amount: -parseEther('11'), kept: true })
      await swap(keyless, { zeroForOne: false, amount: -parseEther('3') })
      run = await ingestBlocks(await wanted(manager.extra))
    })

    test('a trade for each swap, in the amounts that the PoolManager kept and gave', async () => {
      const { trades } = run
      assert.deepEqual(
        trades.map(({ hash, pool }) => [hash, pool]),
        swaps.map(({ hash, pool }) => [hash, pool.id]),
      )
      for (const [index, { hash, pool }] of swaps.entries()) {
        const trade = trades[index]
        assert.ok(trade)
        assert.deepEqual(
          new Map([...movedBy(trade)].sort()),
          new Map([...(await heldBy(hash, pool))].sort()),
        )
        assert.equal(trade.protocol, 'uniswap_v4')
        assert.equal(trade.factory, manager.manager)
        assert.equal(trade.vault, manager.manager)
        assert.equal(trade.trader, OWNER)
      }
    })

    test('pools open with the PoolManager as their vault, and liquidity is what the price makes of it', async () => {
      const pools = Object.values(manager.pools)
      const told = (type: string) =>
        run.changes.filter((each) => each.type === type && each.vault === manager.manager)
      const [opened, more, less] = [told(CHANGE.opened), told(CHANGE.more), told(CHANGE.less)]
      assert.equal(run.changes.length, opened.length + more.length + less.length)
      for (const changes of [opened, more]) {
        assert.deepEqual(
          changes.map(({ pool }) => pool),
          pools.map(({ id }) => id),
        )
      }
      for (const [index, { hash, moved }] of more.entries()) {
        const pool = pools[index]
        assert.ok(pool)
        assert.deepEqual(
          new Map([...moved].sort()),
          new Map([...(await heldBy(hash as Hex, pool))].sort()),
        )
      }
      const { tokens } = manager.pools
      assert.deepEqual(
        less.map(({ hash, pool }) => [hash, pool]),
        [[decreased, tokens.id]],
      )
      const left = await heldBy(decreased, tokens)
      const earned = run.trades.filter(({ pool }) => pool === tokens.id).slice(0, 2)
      for (const [token, amount] of less[0]?.moved ?? []) {
        const fees = earned
          .filter(({ tokenIn }) => tokenIn === token)
          .reduce((sum, { inRaw }) => sum + (inRaw * 3n) / 1_000n, 0n)
        const rest = -(left.get(token) ?? 0n) - fees - amount
        assert.ok(rest >= -3n && rest <= 3n, `${token}: ${rest} of ${amount} is not the price's`)
      }
    })

    test('the node verifies pools by their keys; a pool without a stored key is rejected', async () => {
      const late = await wanted(manager.extra, deployed + 1)
      const rest = await ingestBlocks(late)
      const { keyless, ...kept } = manager.pools
      assert.deepEqual(
        rest.trades,
        run.trades.filter(({ pool }) => pool !== keyless.id),
      )
      const since = new Set<string>([decreased])
      assert.deepEqual(
        rest.changes,
        run.changes.filter(({ hash }) => since.has(hash)),
        'the price is asked of the node',
      )
      const family = 'uniswap_v4'
      const facts = await verifyPools(
        late,
        Object.values(manager.pools).map(({ id }) => ({ address: id, family })),
      )
      assert.deepEqual(
        facts.filter(({ verified: isVerified }) => isVerified),
        Object.values(kept).map(({ id, key }) => ({
          address: id,
          tokenA: named(key[0]),
          tokenB: named(key[1]),
          protocol: family,
          factory: manager.manager,
          feePips: key[2],
          verified: true,
        })),
      )
    })

    test('trades of a pool whose key is stored later count from the next verification', async () => {
      const { keyless } = manager.pools
      await manager.keep(keyless)
      const early = await manager.swap(keyless, { zeroForOne: true, amount: -parseEther('4') })
      await anvil.client.mine({ blocks: 64 })
      const late = await manager.swap(keyless, { zeroForOne: true, amount: -parseEther('5') })
      const { trades } = await ingestBlocks(await wanted(manager.extra, deployed + 1))
      assert.deepEqual(
        trades.filter(({ pool }) => pool === keyless.id).map(({ hash }) => hash),
        [late],
      )
      assert.notEqual(early, late)
    })

    test('trades are decoded only for the contract that is listed', async () => {
      const other = await ingestBlocks(await wanted(vault.extra))
      const vaults = (taken: Ingested) =>
        new Set([...taken.trades, ...taken.changes].map(({ vault: keeper }) => keeper))
      assert.deepEqual(vaults(other), new Set([vault.vault]))
      assert.deepEqual(vaults(run), new Set([manager.manager]))
    })
  })
})
