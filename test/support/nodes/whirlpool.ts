import { address, getAddressEncoder, getProgramDerivedAddress, getU16Encoder } from '@solana/kit'
import { base58Decode } from '../../../core/base58.ts'
import { TOKEN_PROGRAM } from '../../../serving/dex/solana-calls.ts'
import { programAddress } from '../../../serving/dex/solana-message.ts'
import { ARRAY_TICKS } from '../../../serving/dex/whirlpool.ts'
import { WHIRLPOOL, WHIRLPOOL_LAYOUT } from '../../../serving/dex/whirlpool-accounts.ts'
import { whirlpoolSqrtPrice } from '../../../serving/dex/whirlpool-step.ts'
import { addressFor } from '../builders/svm-block.ts'
import { type LocalSvm, putAccount } from './local-svm.ts'
import { programFile } from './solana-programs.ts'

/** Pools of the real program of Orca's Whirlpools: their accounts are written in its layouts, its swaps are its own. */

/** Liquidity between two ticks. */
export interface WhirlpoolPosition {
  readonly lower: number
  readonly upper: number
  readonly liquidity: bigint
}

/** What a pool begins with. */
export interface WhirlpoolStart {
  readonly mintA: string
  readonly mintB: string
  readonly tickSpacing: number
  readonly feePips: number
  readonly tick: number
  readonly positions: readonly WhirlpoolPosition[]
  /** Ticks in arrays with room for the initialized ones only. */
  readonly dynamic?: boolean
  /** Differs from the spacing in pools whose fee follows from their swaps. */
  readonly feeTier?: number
}

const CONFIG = addressFor('whirlpools config')
const PROTOCOL_FEE_BASIS_POINTS = 300
/** Source: orca-so/whirlpools programs/whirlpool/src/state. */
const POOL = { config: 8, bump: 40, protocolFee: 47 } as const
const KINDS = { pool: '3f95d10ce1806309', fixed: '4561bdbe6e0742bb', dynamic: '11d8f68ee1c7da38' }
const VAULT_AMOUNT = 10n ** 18n

/** The program, where it is at hand; undefined: swaps cannot be carried out. */
export const WHIRLPOOL_PROGRAM = programFile('whirlpool.so')

/** Loads the program where it is at hand. */
export const addWhirlpoolProgram = ({ svm }: Pick<LocalSvm, 'svm'>): void => {
  if (WHIRLPOOL_PROGRAM !== undefined) svm.addProgramFromFile(address(WHIRLPOOL), WHIRLPOOL_PROGRAM)
}

const keyBytes = (key: string): Uint8Array => base58Decode(key) ?? new Uint8Array(32)

const writeU128 = (data: Buffer, value: bigint, at: number): void => {
  const word = BigInt.asUintN(128, value)
  data.writeBigUInt64LE(word & ((1n << 64n) - 1n), at)
  data.writeBigUInt64LE(word >> 64n, at + 8)
}

/** An account that holds so much of a token of the first token program. */
export const putTokenAccount = (
  node: Pick<LocalSvm, 'svm'>,
  key: string,
  {
    mint,
    owner,
    amount,
  }: { readonly mint: string; readonly owner: string; readonly amount: bigint },
): void => {
  const data = Buffer.alloc(165)
  data.set(keyBytes(mint), 0)
  data.set(keyBytes(owner), 32)
  data.writeBigUInt64LE(amount, 64)
  data.writeUInt8(1, 108)
  putAccount(node, key, { owner: TOKEN_PROGRAM, data })
}

const poolPlace = async ({ mintA, mintB, tickSpacing, feeTier = tickSpacing }: WhirlpoolStart) => {
  const key = getAddressEncoder()
  const seeds = [
    new TextEncoder().encode('whirlpool'),
    ...[CONFIG, mintA, mintB].map((each) => key.encode(address(each))),
    getU16Encoder().encode(feeTier),
  ]
  return getProgramDerivedAddress({ programAddress: address(WHIRLPOOL), seeds })
}

const poolData = (
  start: WhirlpoolStart,
  bump: number,
  vaults: readonly [string, string],
): Buffer => {
  const { mintA, mintB, tickSpacing, feeTier = tickSpacing, feePips, tick, positions } = start
  const data = Buffer.alloc(WHIRLPOOL_LAYOUT.end)
  data.write(KINDS.pool, 0, 'hex')
  data.set(keyBytes(CONFIG), POOL.config)
  data.writeUInt8(bump, POOL.bump)
  data.writeUInt16LE(tickSpacing, WHIRLPOOL_LAYOUT.tickSpacing)
  data.writeUInt16LE(feeTier, WHIRLPOOL_LAYOUT.feeTier)
  data.writeUInt16LE(feePips, WHIRLPOOL_LAYOUT.feeRate)
  data.writeUInt16LE(PROTOCOL_FEE_BASIS_POINTS, POOL.protocolFee)
  const active = positions.filter(({ lower, upper }) => lower <= tick && tick < upper)
  const liquidity = active.reduce((sum, position) => sum + position.liquidity, 0n)
  writeU128(data, liquidity, WHIRLPOOL_LAYOUT.liquidity)
  writeU128(data, whirlpoolSqrtPrice(tick), WHIRLPOOL_LAYOUT.sqrtPrice)
  data.writeInt32LE(tick, WHIRLPOOL_LAYOUT.tick)
  data.set(keyBytes(mintA), WHIRLPOOL_LAYOUT.mintA)
  data.set(keyBytes(vaults[0]), WHIRLPOOL_LAYOUT.vaultA)
  data.set(keyBytes(mintB), WHIRLPOOL_LAYOUT.mintB)
  data.set(keyBytes(vaults[1]), WHIRLPOOL_LAYOUT.vaultB)
  return data
}

interface Tick {
  net: bigint
  gross: bigint
}

const ticksOf = (positions: readonly WhirlpoolPosition[]): ReadonlyMap<number, Tick> => {
  const ticks = new Map<number, Tick>()
  const add = (at: number, net: bigint, gross: bigint): void => {
    const tick = ticks.get(at) ?? { net: 0n, gross: 0n }
    ticks.set(at, { net: tick.net + net, gross: tick.gross + gross })
  }
  for (const { lower, upper, liquidity } of positions) {
    add(lower, liquidity, liquidity)
    add(upper, -liquidity, liquidity)
  }
  return ticks
}

const TICK_BYTES = 112
const tickBytes = ({ net, gross }: Tick): Buffer => {
  const data = Buffer.alloc(TICK_BYTES)
  writeU128(data, net, 0)
  writeU128(data, gross, 16)
  return data
}

const arrayData = (
  pool: string,
  first: number,
  ticks: readonly (Tick | undefined)[],
  isDynamic: boolean,
): Buffer => {
  const start = Buffer.alloc(4)
  start.writeInt32LE(first)
  const one = (tick: Tick | undefined): Buffer =>
    tick === undefined
      ? Buffer.alloc(isDynamic ? 1 : 1 + TICK_BYTES)
      : Buffer.concat([Buffer.from([1]), tickBytes(tick)])
  const all = ticks.map(one)
  if (!isDynamic)
    return Buffer.concat([Buffer.from(KINDS.fixed, 'hex'), start, ...all, keyBytes(pool)])
  const bitmap = Buffer.alloc(16)
  const bits = ticks.reduce<bigint>((sum, tick, at) => (tick ? sum | (1n << BigInt(at)) : sum), 0n)
  writeU128(bitmap, bits, 0)
  const head = [Buffer.from(KINDS.dynamic, 'hex'), start, keyBytes(pool), bitmap]
  return Buffer.concat([...head, ...all])
}

/** Writes a pool with its vaults and the arrays of its ticks; gives its address. */
export const putWhirlpool = async (
  node: Pick<LocalSvm, 'svm'>,
  start: WhirlpoolStart,
): Promise<string> => {
  const [pool, bump] = await poolPlace(start)
  const vaults = [addressFor(`vault a ${pool}`), addressFor(`vault b ${pool}`)] as const
  putAccount(node, pool, { owner: WHIRLPOOL, data: poolData(start, bump, vaults) })
  const mints = [start.mintA, start.mintB]
  for (const [side, vault] of vaults.entries())
    putTokenAccount(node, vault, { mint: mints[side] ?? '', owner: pool, amount: VAULT_AMOUNT })
  const width = ARRAY_TICKS * start.tickSpacing
  const ticks = ticksOf(start.positions)
  for (const first of new Set([...ticks.keys()].map((at) => Math.floor(at / width) * width))) {
    const held = Array.from({ length: ARRAY_TICKS }, (_, at) =>
      ticks.get(first + at * start.tickSpacing),
    )
    const key = await programAddress(WHIRLPOOL, [
      { word: 'tick_array' },
      { key: pool },
      { word: String(first) },
    ])
    putAccount(node, key, {
      owner: WHIRLPOOL,
      data: arrayData(pool, first, held, start.dynamic === true),
    })
  }
  return pool
}
