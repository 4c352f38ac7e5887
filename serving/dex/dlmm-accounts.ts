import type { AccountPoolFamily, AccountPoolHead, FoundAccount } from './account-pool.ts'
import type { DlmmBin } from './dlmm-bin.ts'
import { type DlmmBook, dlmmFeePips } from './dlmm-book.ts'
import { dlmmArrayOf, isInDlmmBitmap, readDlmmArray, readDlmmPair } from './dlmm-layout.ts'
import type { DlmmPool, QuoteRefusal } from './pool.ts'
import { programAddress } from './solana-message.ts'
import { arrivesWhole } from './token-mint.ts'

/** Program of Meteora DLMM. */
export const DLMM = 'LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo'

/** The clock of the chain, read with the accounts of a pool; where it has its slot and its seconds since 1970. Source: agave, sysvar clock. */
const CLOCK = 'SysvarC1ock11111111111111111111111111111111'
const SYSVARS = 'Sysvar1111111111111111111111111111111111111'
const CLOCK_DATA = { slot: 0, timeS: 32, end: 40 } as const

/** Arrays that are read for swaps in one direction, that of the active bin included. */
const ARRAYS_EACH_WAY = 3

type Pair = NonNullable<ReturnType<typeof readDlmmPair>>
type Found = readonly FoundAccount[]

/** Numbers of the arrays that a swap comes to, in its order: those that the bitmap names, from the active bin on. */
const arraysOnTheWay = ({ arrays, activeBin }: Pair, sellsX: boolean): readonly number[] => {
  const active = dlmmArrayOf(activeBin)
  return sellsX
    ? arrays.filter((array) => array <= active).toReversed()
    : arrays.filter((array) => array >= active)
}

/** Numbers of the arrays that are read. */
const arraysToRead = (pair: Pair): readonly number[] => [
  ...new Set(
    [true, false].flatMap((sellsX) => arraysOnTheWay(pair, sellsX).slice(0, ARRAYS_EACH_WAY)),
  ),
]

const arrayAddress = (pool: string, array: number): Promise<string> => {
  const number = Buffer.alloc(8)
  number.writeBigInt64LE(BigInt(array))
  return programAddress(DLMM, [{ word: 'bin_array' }, { key: pool }, { bytes: number }])
}

interface Moment {
  readonly slot: bigint
  readonly timeS: bigint
}

/** The moment that the accounts are of; null: the account is not the clock. */
const momentOf = (clock: FoundAccount | undefined): Moment | null => {
  const { owner, data } = clock?.account ?? {}
  if (owner !== SYSVARS || data === undefined || data.length < CLOCK_DATA.end) return null
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  return {
    slot: view.getBigUint64(CLOCK_DATA.slot, true),
    timeS: view.getBigInt64(CLOCK_DATA.timeS, true),
  }
}

const isOpen = ({ opensAt }: Pair, { slot, timeS }: Moment): boolean =>
  opensAt === null || (opensAt.unit === 'slot' ? slot : timeS) >= opensAt.point

interface ReadArray {
  readonly address: string
  readonly bins: readonly DlmmBin[]
}

/** Arrays that exist, by number; null: one of the accounts is not what it should be. */
const readArrays = (
  pool: string,
  pair: Pair,
  found: Found,
): ReadonlyMap<number, ReadArray> | null => {
  const read = new Map<number, ReadArray>()
  for (const [place, array] of arraysToRead(pair).entries()) {
    const { address = '', account } = found[place] ?? {}
    if (account === undefined) continue
    const bins = account.owner === DLMM ? readDlmmArray(account, { pool, array }, pair) : null
    if (bins === null) return null
    read.set(array, { address, bins })
  }
  return read
}

interface Way {
  readonly arrays: readonly ReadArray[]
  /** Why it goes no further. */
  readonly end: QuoteRefusal
}

/** What is known on the way of a swap: up to the first array that was not read. */
const wayOf = (pair: Pair, read: ReadonlyMap<number, ReadArray>, sellsX: boolean): Way => {
  const numbers = arraysOnTheWay(pair, sellsX)
  const arrays: ReadArray[] = []
  for (const number of numbers) {
    const array = read.get(number)
    if (array === undefined) break
    arrays.push(array)
  }
  const isAll = arrays.length === numbers.length
  return { arrays, end: isAll ? 'insufficient_liquidity' : 'beyond_known_ticks' }
}

const bookOf = (pair: Pair, [down, up]: readonly [Way, Way], timeS: number): DlmmBook => {
  const bins = new Map(
    [...down.arrays, ...up.arrays].flatMap(({ bins }) => bins.map((bin) => [bin.bin, bin])),
  )
  const { mints: _mints, arrays: _arrays, orders: _orders, opensAt: _opensAt, ...state } = pair
  return {
    ...state,
    timeS,
    bins: [...bins.values()].sort((one, other) => one.bin - other.bin),
    below: down.end,
    above: up.end,
  }
}

/** The pool of an account and of what it names; null where swaps have not begun, or something of it is not what it should be. */
const poolOf = (head: AccountPoolHead, data: Uint8Array, found: Found): DlmmPool | null => {
  const pair = readDlmmPair(data)
  if (pair === null || !isInDlmmBitmap(dlmmArrayOf(pair.activeBin))) return null
  if (!pair.mints.every((mint) => head.tokens.includes(mint))) return null
  const [clock, ...tokens] = found.slice(arraysToRead(pair).length)
  const moment = momentOf(clock)
  if (moment === null || !isOpen(pair, moment)) return null
  if (tokens.length !== 2 || !tokens.every(({ account }) => arrivesWhole(account))) return null
  const read = readArrays(head.address, pair, found)
  if (read === null) return null
  const ways = [wayOf(pair, read, true), wayOf(pair, read, false)] as const
  const book = bookOf(pair, ways, Number(moment.timeS))
  const addresses = ({ arrays }: Way) => arrays.map(({ address }) => address)
  return {
    ...head,
    ...book,
    kind: 'dlmm',
    feePips: dlmmFeePips(book),
    sideOfX: head.tokens[0] === pair.mints[0] ? 0 : 1,
    binArrays: { sellingX: addresses(ways[0]), sellingY: addresses(ways[1]) },
  }
}

/** Pools of Meteora DLMM that are open, of tokens whose transfers arrive whole; those that trade outside of their own bitmap have none. */
export const dlmmFamily: AccountPoolFamily = {
  program: DLMM,
  accounts: async (address, data) => {
    const pair = readDlmmPair(data)
    if (pair === null) return []
    const numbers = arraysToRead(pair)
    const arrays = await Promise.all(numbers.map((array) => arrayAddress(address, array)))
    return [...arrays, CLOCK, ...pair.mints]
  },
  pool: poolOf,
}
