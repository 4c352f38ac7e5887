import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { AccountPoolFamily, AccountPoolHead } from './account-pool.ts'
import type { ChainMarket } from './chain-market.ts'
import { dlmmFamily } from './dlmm-accounts.ts'
import type { Pool } from './pool.ts'
import type { SwapRequest } from './search.ts'
import type { SolanaReader } from './solana-node.ts'
import { whirlpoolFamily } from './whirlpool-accounts.ts'

/** Families whose pools are read from their accounts, by the kind of their pools. */
const FAMILIES: Readonly<Partial<Record<Pool['kind'], AccountPoolFamily>>> = {
  dlmm: dlmmFamily,
  whirlpool: whirlpoolFamily,
}

/** States of pools that only their accounts tell, read from a node when a swap asks for them. */
export interface AccountPools {
  /**
   * Reads the deepest of these pools between the tokens, and between each of them and the hubs; of those that `wanted` names, where it does.
   * What cannot be read, or not in time, is left out: never throws.
   */
  readBetween(
    tokens: Pick<SwapRequest, 'tokenIn' | 'tokenOut'>,
    wanted: ReadonlySet<string> | undefined,
  ): Promise<void>
  /** The same for pools that trade both tokens. */
  readDirect(
    tokens: Pick<SwapRequest, 'tokenIn' | 'tokenOut'>,
    wanted: ReadonlySet<string> | undefined,
  ): Promise<void>
  /** The same for one pool, where it is one of these. */
  readPool(address: string): Promise<void>
}

/** What the reading works with. */
interface AccountPoolsDeps {
  readonly reader: Pick<SolanaReader, 'accounts'>
  readonly market: Pick<ChainMarket, 'pools' | 'hubs'>
  readonly nowMs: () => number
  readonly log: Logger
}

/** Pools that one request has read: each takes two calls of a node. */
const MAX_POOLS_PER_REQUEST = 6
/** Those among them that trade both tokens, where the others are wanted, too. */
const MAX_DIRECT = 3
/** How long a state is quoted from: about five slots. */
const HELD_MS = 2_000
/** Longest time that a request waits for readings. */
const MAX_WAIT_MS = 1_500

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((each, index) => each === other[index])

/** Reads over a chain's nodes; requests at the same time share a reading. */
const createAccountPools = ({
  reader,
  market: { pools, hubs },
  nowMs,
  log,
}: AccountPoolsDeps): AccountPools => {
  const underWay = new Map<string, { readonly reading: Promise<void>; readonly sinceMs: number }>()

  /** The state as one slot has it: the pool is read again with the accounts that it names. */
  const stateOf = async (head: AccountPoolHead, family: AccountPoolFamily) => {
    const [first] = await reader.accounts([head.address])
    if (first?.owner !== family.program) return null
    const named = await family.accounts(head.address, first.data)
    const [pool, ...found] = await reader.accounts([head.address, ...named])
    if (pool?.owner !== family.program) return null
    if (!isSame(await family.accounts(head.address, pool.data), named)) return null
    const accounts = named.map((address, index) => ({ address, account: found[index] }))
    return family.pool(head, pool.data, accounts)
  }

  const readOne = async (head: AccountPoolHead, family: AccountPoolFamily): Promise<void> => {
    try {
      const state = await stateOf(head, family)
      pools.keepRead(head.address, state, nowMs() + HELD_MS)
    } catch (err) {
      const { address: pool, protocol } = head
      if (!(err instanceof Fault)) log.error({ err, pool, protocol }, 'pool account not read')
      pools.keepRead(head.address, null, nowMs() + HELD_MS)
    }
  }

  const readAll = async (heads: readonly AccountPoolHead[]): Promise<void> => {
    const readings = heads.flatMap((head) => {
      const family = FAMILIES[head.kind]
      if (family === undefined) return []
      const known = underWay.get(head.address)
      // One that took too long for an earlier request holds up none after it.
      if (known) return nowMs() - known.sinceMs < MAX_WAIT_MS ? [known.reading] : []
      const reading = readOne(head, family).finally(() => underWay.delete(head.address))
      underWay.set(head.address, { reading, sinceMs: nowMs() })
      return [reading]
    })
    if (readings.length === 0) return
    const timer = new AbortController()
    const late = sleep(MAX_WAIT_MS, undefined, { signal: timer.signal }).catch(() => undefined)
    await Promise.race([Promise.all(readings), late])
    timer.abort()
  }

  /** Pools of pairs that `wanted` lets through and that are to be read, the deepest first. */
  const unreadOf = (
    pairs: readonly (readonly [token: string, other: string])[],
    wanted: ReadonlySet<string> | undefined,
  ): readonly AccountPoolHead[] => {
    const heads = new Map<string, AccountPoolHead>()
    for (const [token, other] of pairs) {
      if (token === other) continue
      for (const head of pools.unread(token, other, nowMs()))
        if (wanted?.has(head.protocol) ?? true) heads.set(head.address, head)
    }
    return [...heads.values()].toSorted((a, b) => (b.tvlUsd ?? 0) - (a.tvlUsd ?? 0))
  }

  return {
    readBetween: ({ tokenIn, tokenOut }, wanted) => {
      const direct = unreadOf([[tokenIn, tokenOut]], wanted)
      // Pools of hubs among each other are deeper than any of a lesser token: each end has its share of the readings.
      const [first = [], last = []] = [tokenIn, tokenOut].map((end) =>
        unreadOf(
          [...hubs].filter((hub) => hub !== tokenIn && hub !== tokenOut).map((hub) => [end, hub]),
          wanted,
        ),
      )
      const chosen = direct.slice(0, MAX_DIRECT)
      for (let place = 0; place < MAX_POOLS_PER_REQUEST; place += 1) {
        for (const head of [first[place], last[place]]) if (head) chosen.push(head)
      }
      return readAll(chosen.slice(0, MAX_POOLS_PER_REQUEST))
    },
    readDirect: ({ tokenIn, tokenOut }, wanted) =>
      readAll(unreadOf([[tokenIn, tokenOut]], wanted).slice(0, MAX_POOLS_PER_REQUEST)),
    readPool: (address) => {
      const head = pools.unreadPool(address, nowMs())
      return readAll(head === undefined ? [] : [head])
    },
  }
}

/** Those of the chains that have a node, by internal id of the chain. */
export const openAccountPools = (
  markets: ReadonlyMap<string, ChainMarket>,
  readers: ReadonlyMap<string, SolanaReader>,
  { nowMs, log }: Pick<AccountPoolsDeps, 'nowMs' | 'log'>,
): ReadonlyMap<string, AccountPools> =>
  new Map(
    [...readers].flatMap(([chain, reader]) => {
      const market = markets.get(chain)
      return market
        ? [[chain, createAccountPools({ reader, market, nowMs, log: log.child({ chain }) })]]
        : []
    }),
  )
