import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { AccountPoolFamily, AccountPoolHead } from './account-pool.ts'
import { type ChainMarket, MAX_LAG_BLOCKS } from './chain-market.ts'
import { dlmmFamily } from './dlmm-accounts.ts'
import type { Pool } from './pool.ts'
import { type AccountReadFamily, accountFamilyOf } from './quotable-protocols.ts'
import type { SwapRequest } from './search.ts'
import type { SolanaAccount, SolanaReader } from './solana-node.ts'
import { whirlpoolFamily } from './whirlpool-accounts.ts'

/** Families whose pools are read from their accounts. */
const FAMILIES: Readonly<Record<AccountReadFamily, AccountPoolFamily>> = {
  meteora_dlmm: dlmmFamily,
  orca_whirlpool: whirlpoolFamily,
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
  readonly market: Pick<ChainMarket, 'pools' | 'hubs' | 'progress'>
  readonly caller: PoolReadCaller
  readonly metrics: Pick<Metrics, 'poolReadings'>
  readonly nowMs: () => number
  readonly log: Logger
}

/** On whose behalf pools are read. */
interface PoolReadCaller {
  /** Requests of one organization share a reading: what its limits refuse concerns no other one. */
  orgId(): string
  /** Runs work of which other requests use the result: it ends with the signal, not with the caller's connection. */
  shared<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>
}

/** Pools that one request has read: all take a call of a node together, and one each. */
const MAX_POOLS_PER_REQUEST = 6
/** Those among them that trade both tokens, where the others are wanted, too. */
const MAX_DIRECT = 3
/** How long a state is quoted from: about five slots. So long a node that gave none is not asked again. */
const HELD_MS = 2_000
/** How long a pool is left out whose accounts give no exact quote. */
const NOT_EXACT_HELD_MS = 10_000
/** Longest time that a request waits for readings. */
const MAX_WAIT_MS = 1_500
/** Longest time of a reading, whoever waits for it. */
const MAX_READING_MS = 10_000

/** Refusals of the caller and not of a node: another caller, or the same one later, has its turn. */
const OF_CALLER: ReadonlySet<string> = new Set(['CONCURRENCY_LIMIT', 'SERVER_BUSY'])

const isAbort = (error: unknown): boolean =>
  error instanceof Error && ['AbortError', 'TimeoutError'].includes(error.name)

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((each, index) => each === other[index])

interface Reading {
  readonly head: AccountPoolHead
  readonly family: AccountPoolFamily
}

/** Reads pools with one call for all of their accounts and one each for what these name; answers one promise each, which never rejects. */
const createPoolReader = ({
  reader,
  market: { pools, progress },
  caller,
  metrics,
  nowMs,
  log,
}: AccountPoolsDeps): ((reads: readonly Reading[]) => readonly Promise<void>[]) => {
  const note = ({ protocol }: AccountPoolHead, outcome: string): void =>
    metrics.poolReadings.inc({ protocol, outcome })

  /** Accounts as of no slot that lies further back than the pools of topics may. */
  const readAccounts = (addresses: readonly string[]) => {
    const newest = progress.newest?.slot
    const minSlot = newest === undefined ? undefined : newest - MAX_LAG_BLOCKS.svm
    return reader.accounts(addresses, { minSlot })
  }

  /** The state as one slot has it: the pool is read again with the accounts that it names. undefined: it has changed between both readings. */
  const stateOf = async (
    { head, family }: Reading,
    first: SolanaAccount | undefined,
  ): Promise<Pool | null | undefined> => {
    if (first?.owner !== family.program) return null
    const named = await family.accounts(head.address, first.data)
    const [pool, ...found] = await readAccounts([head.address, ...named])
    if (pool?.owner !== family.program) return null
    if (!isSame(await family.accounts(head.address, pool.data), named)) return undefined
    const accounts = named.map((address, index) => ({ address, account: found[index] }))
    return family.pool(head, pool.data, accounts)
  }

  const readOne = async (
    read: Reading,
    first: () => Promise<SolanaAccount | undefined>,
  ): Promise<void> => {
    const { head } = read
    const hold = (pool: Pool | null, heldMs: number, outcome: string): void => {
      note(head, outcome)
      pools.keepRead(head.address, pool, nowMs() + heldMs)
    }
    try {
      const state = await stateOf(read, await first())
      if (state === undefined) note(head, 'changed')
      else if (state === null) hold(null, NOT_EXACT_HELD_MS, 'not_exact')
      else if (!pools.isPlausible(state)) {
        log.warn(
          { pool: head.address, protocol: head.protocol },
          'pool price of a node is far from its last swap',
        )
        hold(null, HELD_MS, 'implausible')
      } else hold(state, HELD_MS, 'read')
    } catch (err) {
      const isRefused = err instanceof Fault && OF_CALLER.has(err.faultName)
      if (isRefused || isAbort(err)) return note(head, 'refused')
      const { address: pool, protocol } = head
      if (!(err instanceof Fault)) log.error({ err, pool, protocol }, 'pool account not read')
      hold(null, HELD_MS, 'failed')
    }
  }

  return (reads) => {
    const addresses = reads.map(({ head }) => head.address)
    const signal = AbortSignal.timeout(MAX_READING_MS)
    const firsts = caller.shared(signal, () => readAccounts(addresses))
    return reads.map((read, index) =>
      caller.shared(signal, () => readOne(read, async () => (await firsts)[index])),
    )
  }
}

/** Reads over a chain's nodes; requests of an organization at the same time share a reading. */
export const createAccountPools = (deps: AccountPoolsDeps): AccountPools => {
  const {
    market: { pools, hubs },
    caller,
    nowMs,
  } = deps
  const underWay = new Map<string, { readonly reading: Promise<void>; readonly sinceMs: number }>()
  const read = createPoolReader(deps)

  const readAll = async (heads: readonly AccountPoolHead[]): Promise<void> => {
    const orgId = caller.orgId()
    const keyOf = ({ address }: Pick<AccountPoolHead, 'address'>): string => `${orgId} ${address}`
    const readings: Promise<void>[] = []
    const unread: Reading[] = []
    for (const head of heads) {
      const family = accountFamilyOf(head.protocol)
      if (family === undefined) continue
      const known = underWay.get(keyOf(head))
      if (known === undefined) unread.push({ head, family: FAMILIES[family] })
      // One that took too long for an earlier request holds up none after it.
      else if (nowMs() - known.sinceMs < MAX_WAIT_MS) readings.push(known.reading)
    }
    for (const [index, reading] of (unread.length > 0 ? read(unread) : []).entries()) {
      const key = keyOf(unread[index]?.head ?? { address: '' })
      const ended = reading.finally(() => underWay.delete(key))
      underWay.set(key, { reading: ended, sinceMs: nowMs() })
      readings.push(ended)
    }
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
      // Places that no pool of a hub takes are for further pools of both tokens.
      const further = direct.slice(MAX_DIRECT)
      for (let place = 0; place < MAX_POOLS_PER_REQUEST; place += 1) {
        for (const head of [first[place], last[place]]) if (head) chosen.push(head)
      }
      return readAll([...chosen, ...further].slice(0, MAX_POOLS_PER_REQUEST))
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
  { log, ...deps }: Omit<AccountPoolsDeps, 'reader' | 'market'>,
): ReadonlyMap<string, AccountPools> =>
  new Map(
    [...readers].flatMap(([chain, reader]) => {
      const market = markets.get(chain)
      return market
        ? [[chain, createAccountPools({ ...deps, reader, market, log: log.child({ chain }) })]]
        : []
    }),
  )
