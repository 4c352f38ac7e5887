import { readFileSync } from 'node:fs'
import { address } from '@solana/kit'
import { base58Decode } from '../../../core/base58.ts'
import { DLMM } from '../../../serving/dex/dlmm-accounts.ts'
import { dlmmPriceOfBin } from '../../../serving/dex/dlmm-bin.ts'
import { DLMM_PAIR } from '../../../serving/dex/dlmm-layout.ts'
import { TOKEN_PROGRAM } from '../../../serving/dex/solana-calls.ts'
import { programAddress } from '../../../serving/dex/solana-message.ts'
import { addressFor } from '../builders/svm-block.ts'
import { type LocalSvm, putAccount } from './local-svm.ts'
import { programFile } from './solana-programs.ts'

type Svm = Pick<LocalSvm, 'svm'>

/** Puts the program there; it must be at hand. */
export const addDlmm = ({ svm }: Svm): void => {
  svm.addProgramFromFile(address(DLMM), programFile('meteora_dlmm.so') ?? '')
}

/** An account as it was recorded. */
interface RecordedAccount {
  readonly address: string
  readonly owner: string
  readonly data: Buffer
}

/** A pool with all that its swaps name, as it was recorded. */
export interface RecordedDlmm {
  readonly pool: string
  readonly accounts: readonly RecordedAccount[]
}

interface RecordedJson {
  readonly pool: string
  readonly accounts: readonly {
    readonly address: string
    readonly owner: string
    readonly data: string
  }[]
}

/** Pools of the chain in the folder of programs, `meteora_dlmm_accounts.json`: their accounts with data in hexadecimal digits. */
export const recordedDlmm = (): readonly RecordedDlmm[] => {
  const file = programFile('meteora_dlmm_accounts.json') ?? ''
  return (JSON.parse(readFileSync(file, 'utf8')) as RecordedJson[]).map(({ pool, accounts }) => ({
    pool,
    accounts: accounts.map(({ data, ...account }) => ({
      ...account,
      data: Buffer.from(data, 'hex'),
    })),
  }))
}

/** A pool that is nobody's: at bin 0, with steps of a tenth of a percent and a fee of 0.2 %, of two tokens with six decimals. */
export const madeUpDlmm = (pool: string, mints: readonly [string, string]): RecordedDlmm => {
  const pair = Buffer.alloc(DLMM_PAIR.end)
  pair.write('210b3162b565b10d', 'hex')
  pair.writeUInt16LE(20_000, DLMM_PAIR.baseFactor)
  pair.writeUInt16LE(30, DLMM_PAIR.filterPeriod)
  pair.writeUInt16LE(600, DLMM_PAIR.decayPeriod)
  pair.writeUInt16LE(5_000, DLMM_PAIR.reductionFactor)
  pair.writeUInt32LE(350_000, DLMM_PAIR.maxVolatility)
  pair.writeUInt8(2, DLMM_PAIR.functionType)
  pair.writeUInt16LE(10, DLMM_PAIR.binStep)
  pair.writeUInt8(1, DLMM_PAIR.version)
  for (const [at, name] of [
    [DLMM_PAIR.mintX, mints[0]],
    [DLMM_PAIR.mintY, mints[1]],
    [DLMM_PAIR.reserveX, addressFor(`reserve x ${pool}`)],
    [DLMM_PAIR.reserveY, addressFor(`reserve y ${pool}`)],
    [DLMM_PAIR.oracle, addressFor(`oracle ${pool}`)],
  ] as const)
    key(name).copy(pair, at)
  const mint = Buffer.alloc(MINT_BYTES)
  mint.writeUInt8(6, 44)
  mint.writeUInt8(1, 45)
  return {
    pool,
    accounts: [
      { address: pool, owner: DLMM, data: pair },
      ...mints.map((each) => ({ address: each, owner: TOKEN_PROGRAM, data: mint })),
    ],
  }
}

/** A bin to be written. */
export interface TestBin {
  readonly bin: number
  readonly x: bigint
  readonly y: bigint
  readonly orders?: {
    readonly sellX: boolean
    readonly begun: bigint
    readonly open: bigint
  }
}

/** How a pool differs from what was recorded. */
export interface DlmmChange {
  /** Changes the account of the pool. */
  readonly pair?: (data: Buffer) => void
  /** Changes an account of bins. */
  readonly array?: (data: Buffer) => void
  /** Bins in place of those that were recorded. */
  readonly bins?: readonly TestBin[]
  /** Mints stay as they were recorded, with all of their extensions. */
  readonly keepMints?: boolean
}

const [ARRAY_BYTES, ARRAY_BINS, BIN_BYTES, MINT_BYTES, TOKENS_BYTES] = [10_136, 70, 144, 82, 165]
const VAULT_HOLDS = 10n ** 18n

const key = (text: string): Buffer => Buffer.from(base58Decode(text) ?? [])

const putU128 = (data: Buffer, value: bigint, at: number): void => {
  data.writeBigUInt64LE(value & ((1n << 64n) - 1n), at)
  data.writeBigUInt64LE(value >> 64n, at + 8)
}

const binData = ({ bin, x, y, orders }: TestBin, binStep: number): Buffer => {
  const data = Buffer.alloc(BIN_BYTES)
  data.writeBigUInt64LE(x, 0)
  data.writeBigUInt64LE(y, 8)
  // The program swaps at the price that stands there: one that is a little off shows that.
  putU128(data, (dlmmPriceOfBin(bin, binStep) ?? 0n) + BigInt(Math.abs(bin % 3)), 16)
  putU128(data, (x + y) << 64n, 32)
  if (orders === undefined) return data
  data.writeBigUInt64LE(orders.open, 112)
  // Of what is begun as much again is taken to be filled already.
  data.writeBigUInt64LE(2n * orders.begun, 120)
  data.writeBigUInt64LE(orders.begun, 128)
  data.writeUInt32LE(orders.begun > 0n ? 1 : 0, 136)
  data.writeUInt8(orders.sellX ? 1 : 0, 140)
  return data
}

/** Accounts of bins, and the bitmap of the pool that names them. */
const writeBins = async (
  node: Svm,
  pool: string,
  pair: Buffer,
  bins: readonly TestBin[],
): Promise<void> => {
  const arrayOf = ({ bin }: TestBin): number => Math.floor(bin / ARRAY_BINS)
  pair.fill(0, DLMM_PAIR.bitmap, DLMM_PAIR.bitmap + 128)
  for (const array of new Set(bins.map(arrayOf))) {
    const data = Buffer.alloc(ARRAY_BYTES)
    data.write('5c8e5cdc059446b5', 'hex')
    data.writeBigInt64LE(BigInt(array), 8)
    data.writeUInt8(2, 16)
    key(pool).copy(data, 24)
    for (const bin of bins.filter((each) => arrayOf(each) === array)) {
      const place = bin.bin - array * ARRAY_BINS
      binData(bin, pair.readUInt16LE(DLMM_PAIR.binStep)).copy(data, 56 + place * BIN_BYTES)
    }
    const bit = array + 512
    const at = DLMM_PAIR.bitmap + (bit >> 3)
    pair.writeUInt8(pair.readUInt8(at) | (1 << (bit & 7)), at)
    const seeds = [{ word: 'bin_array' }, { key: pool }, { bytes: data.subarray(8, 16) }]
    putAccount(node, await programAddress(DLMM, seeds), { owner: DLMM, data })
  }
}

/** Reserves hold enough for every swap and are not of wrapped SOL, which would move lamports. */
const simpler = ({ owner, data }: RecordedAccount, keepMints: boolean): Buffer => {
  if (owner === DLMM) return Buffer.from(data)
  const isReserve = data.length >= TOKENS_BYTES && data.readUInt8(108) === 1
  if (!isReserve || data.length > 500)
    return Buffer.from(keepMints ? data : data.subarray(0, MINT_BYTES))
  const reserve = Buffer.from(data.subarray(0, TOKENS_BYTES))
  reserve.writeBigUInt64LE(VAULT_HOLDS, 64)
  reserve.fill(0, 109, 121)
  return reserve
}

/** Writes a recorded pool with its changes; accounts of its bins that were there before stay where nothing is written over them. */
export const putDlmm = async (
  node: Svm,
  { pool, accounts }: RecordedDlmm,
  { pair, array, bins, keepMints = false }: DlmmChange = {},
): Promise<void> => {
  for (const account of accounts) {
    const data = simpler(account, keepMints)
    const isArray = account.owner === DLMM && data.length === ARRAY_BYTES
    if (account.address === pool) {
      pair?.(data)
      if (bins !== undefined) await writeBins(node, pool, data, bins)
    }
    if (isArray && bins !== undefined) continue
    if (isArray) array?.(data)
    putAccount(node, account.address, { owner: account.owner, data })
  }
}

/** Unix seconds and slot of the next swap. */
export const setClock = ({ svm }: Svm, timeS: number, slot: number): void => {
  const clock = svm.getClock()
  clock.unixTimestamp = BigInt(timeS)
  clock.slot = BigInt(slot)
  svm.setClock(clock)
}
