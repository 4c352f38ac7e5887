import type { SvmInstruction } from '../../../schemas/events.ts'
import { keyAt, offsetsOf, textsAt, u64, viewOf } from '../layout/layout.ts'
import { isTokenProgram, PROGRAM } from '../programs/programs.ts'
import { calledBy, callerAt, holderOf, pathOf, ranBelow, SOL, type SvmScope } from './tx-context.ts'
import { isRead, type SvmReader } from './types.ts'

/** Instructions of both token programs by their first byte. Source: solana-program/token, token-2022 interfaces. */
const TAG = {
  initializeMint: 0,
  transfer: 3,
  setAuthority: 6,
  mintTo: 7,
  burn: 8,
  transferChecked: 12,
  mintToChecked: 14,
  burnChecked: 15,
  initializeMint2: 20,
  transferFeeExtension: 26,
  /** First byte of the metadata interface, which knows its instructions by eight. */
  metadataInterface: 0xd2,
} as const

/** Below `transferFeeExtension`. */
const TRANSFER_CHECKED_WITH_FEE = 1

/** Tokens that moved between two token accounts. */
export interface Moved {
  readonly from: string
  readonly to: string
  /** Where the instruction names it. */
  readonly mint: string | undefined
  readonly authority: string
  /** What left `from`; of a token with a transfer fee less arrives. */
  readonly amountRaw: bigint
}

/** What a token instruction moved; undefined for all others and for one that is cut short. */
const movedBy = (instruction: SvmInstruction): Moved | undefined => {
  if (!isRead(instruction) || !isTokenProgram(instruction.program)) return undefined
  const { accounts, data } = instruction
  const tag = data[0]
  const plain = tag === TAG.transfer
  const withFee = tag === TAG.transferFeeExtension && data[1] === TRANSFER_CHECKED_WITH_FEE
  if (!plain && tag !== TAG.transferChecked && !withFee) return undefined
  const amountAt = withFee ? 2 : 1
  const from = accounts[0]
  const mint = plain ? undefined : accounts[1]
  const to = accounts[plain ? 1 : 2]
  const authority = accounts[plain ? 2 : 3]
  if (data.length < amountAt + 8 || from === undefined) return undefined
  if (to === undefined || authority === undefined) return undefined
  return { from, to, mint, authority, amountRaw: u64(viewOf(data), amountAt) }
}

/** What the instructions that the one at `at` called itself moved, in order. */
export const movedBelow = (scope: SvmScope, at: number): readonly Moved[] => {
  const list: Moved[] = []
  for (const called of calledBy(scope, at)) {
    const moved = movedBy(called)
    if (moved !== undefined) list.push(moved)
  }
  return list
}

/** What everything below the instruction at `at` moved, in order. */
export const movedWithin = (scope: SvmScope, at: number): readonly Moved[] =>
  ranBelow(scope, at).flatMap((ran) => movedBy(ran) ?? [])

/** Coin that the instructions that the one at `at` called itself sent to an account. */
export const coinSentBelow = (scope: SvmScope, at: number, to: string): bigint =>
  calledBy(scope, at).reduce((sum, called) => {
    const sent = coinBy(called)
    return sent?.to === to ? sum + sent.amountRaw : sum
  }, 0n)

/** Base units of a token that the instructions below the one at `at` minted. */
export const mintedBelow = (scope: SvmScope, at: number, mint: string): bigint =>
  ranBelow(scope, at).reduce((sum, ran) => {
    const supply = supplyBy(ran)
    return supply?.type === 'mint' && supply.mint === mint ? sum + supply.amountRaw : sum
  }, 0n)

/**
 * What arrived of a transfer, without the fee that a token keeps of it: the instruction states what left, and seldom the fee. What an
 * account gained in the transaction tells what all that came in lost together; where several transfers did, each lost its share.
 * All of it where the account's balances are not told, or other instructions add to it or take from it.
 */
export const arrivedRaw = (scope: SvmScope, { to, amountRaw }: Moved): bigint => {
  const keptRaw = keptOf(scope, to)
  if (keptRaw === undefined || keptRaw.keptRaw <= 0n) return amountRaw
  const { keptRaw: allRaw, inRaw } = keptRaw
  return amountRaw - (amountRaw * allRaw + inRaw - 1n) / inRaw
}

/** What came to an account in a transaction, and how much of it its token kept. */
const keptOf = (
  scope: SvmScope,
  account: string,
): { readonly keptRaw: bigint; readonly inRaw: bigint } | undefined => {
  const held = scope.tx.tokenBalances.find((each) => each.account === account)
  if (held === undefined || held.postRaw === null) return undefined
  let inRaw = 0n
  let outRaw = 0n
  for (const instruction of scope.tx.instructions) {
    const { program, accounts } = instruction
    if (program !== PROGRAM.token2022 && isTokenProgram(program) && accounts.includes(account)) {
      return undefined
    }
    if (program !== PROGRAM.token2022 || !accounts.includes(account)) continue
    const moved = movedBy(instruction)
    const supply = moved === undefined ? supplyBy(instruction) : undefined
    if (supply !== undefined) return undefined
    if (moved?.to === account) inRaw += moved.amountRaw
    if (moved?.from === account) outRaw += moved.amountRaw
  }
  const keptRaw = inRaw - outRaw - (held.postRaw - (held.preRaw ?? 0n))
  return inRaw === 0n || keptRaw > inRaw ? undefined : { keptRaw, inRaw }
}

/** What a token account holds behind the instruction at `at`; undefined where a later one touches it again. */
export const heldAfter = (scope: SvmScope, at: number, account: string): bigint | undefined => {
  const { instructions } = scope.tx
  for (let next = at + 1 + ranBelow(scope, at).length; next < instructions.length; next += 1) {
    const item = instructions[next]
    if (item && isTokenProgram(item.program) && item.accounts.includes(account)) return undefined
  }
  return holderOf(scope, account)?.postRaw ?? undefined
}

/** Who burnt tokens right below the instruction at `at`. */
export const burnerBelow = (scope: SvmScope, at: number): string | undefined => {
  for (const called of calledBy(scope, at)) {
    const supply = supplyBy(called)
    if (supply?.type === 'burn') return supply.authority
  }
  return undefined
}

interface Supplied {
  readonly type: 'mint' | 'burn'
  readonly mint: string
  readonly authority: string
  readonly amountRaw: bigint
}

/** Amount of a MintTo or a Burn with the mint and who allowed it; undefined for all others. */
const supplyBy = (instruction: SvmInstruction): Supplied | undefined => {
  if (!isRead(instruction) || !isTokenProgram(instruction.program)) return undefined
  const { accounts, data } = instruction
  const tag = data[0]
  const mints = tag === TAG.mintTo || tag === TAG.mintToChecked
  if (!mints && tag !== TAG.burn && tag !== TAG.burnChecked) return undefined
  const mint = accounts[mints ? 0 : 1]
  const authority = accounts[2]
  if (data.length < 9 || mint === undefined || authority === undefined) return undefined
  return { type: mints ? 'mint' : 'burn', mint, authority, amountRaw: u64(viewOf(data), 1) }
}

const takeMoved: SvmReader = (scope, instruction, at) => {
  const moved = movedBy(instruction)
  if (moved === undefined) return 'short-data'
  const from = holderOf(scope, moved.from)
  const to = holderOf(scope, moved.to)
  const token = moved.mint ?? from?.mint ?? to?.mint
  if (token === undefined) return 'unknown-token'
  scope.out.transfers.push({
    kind: 'transfer',
    txIndex: scope.tx.index,
    logIndex: at,
    path: pathOf(instruction),
    token,
    from: from?.owner ?? moved.authority,
    to: to?.owner ?? moved.to,
    fromAccount: moved.from,
    toAccount: moved.to,
    amountRaw: moved.amountRaw,
    wrap: false,
  })
  return undefined
}

const takeSupply: SvmReader = (scope, instruction, at) => {
  const moved = supplyBy(instruction)
  if (moved === undefined) return 'short-data'
  scope.out.supplies.push({
    kind: 'supply',
    txIndex: scope.tx.index,
    logIndex: at,
    path: pathOf(instruction),
    type: moved.type,
    token: moved.mint,
    amountRaw: moved.amountRaw,
  })
  return undefined
}

const MINT = offsetsOf({ tag: 'u8', decimals: 'u8', mintAuthority: 'key', hasFreeze: 'bool' })

/** No pools, and their own mints are shares: the vaults under the pools of Meteora's DAMM v1 make one per token. */
const SHARE_MAKERS: ReadonlySet<string> = new Set([PROGRAM.meteoraVault])

/** A mint that a listed program makes itself is its liquidity token or its launch. */
const takeMint: SvmReader = (scope, instruction, at) => {
  const { accounts, data, program } = instruction
  const [mint] = accounts
  if (data.length < MINT.hasFreeze || mint === undefined) return 'short-data'
  const caller = scope.tx.instructions[callerAt(scope, at)]
  const frozen = data[MINT.hasFreeze] === 1 && data.length >= MINT.end + 32
  const txIndex = scope.tx.index
  const path = pathOf(instruction)
  scope.newborn.mints.set(mint, {
    txIndex,
    logIndex: at,
    path,
    program,
    decimals: data[MINT.decimals] ?? 0,
    mintAuthority: keyAt(data, MINT.mintAuthority),
    freezeAuthority: frozen ? keyAt(data, MINT.end) : null,
    listed:
      caller !== undefined &&
      (scope.books.protocols.factory(caller.program) !== undefined ||
        SHARE_MAKERS.has(caller.program)),
  })
  scope.out.supplies.push({
    kind: 'supply',
    txIndex,
    logIndex: at,
    path,
    type: 'initialize',
    token: mint,
    amountRaw: 0n,
  })
  return undefined
}

const AUTHORITY = offsetsOf({ tag: 'u8', type: 'u8', has: 'bool', key: 'key' })
const AUTHORITIES = ['mintAuthority', 'freezeAuthority'] as const

/** Only of mints that the transaction made: others' authorities are no event of ours. */
const takeAuthority: SvmReader = ({ newborn: { mints } }, { accounts, data }) => {
  const [mint] = accounts
  const made = mint === undefined ? undefined : mints.get(mint)
  const name = AUTHORITIES[data[AUTHORITY.type] ?? -1]
  if (made === undefined || mint === undefined || name === undefined) return undefined
  const kept = data[AUTHORITY.has] === 1 && data.length >= AUTHORITY.end
  mints.set(mint, { ...made, [name]: kept ? keyAt(data, AUTHORITY.key) : null })
  return undefined
}

const takeTexts = (
  { newborn }: SvmScope,
  mint: string | undefined,
  told: ReturnType<typeof textsAt>,
): string | undefined => {
  if (told === undefined || mint === undefined) return 'short-data'
  const [name = '', symbol = '', uri = ''] = told.texts
  newborn.texts.set(mint, [name, symbol, uri])
  return undefined
}

const takeWithFee: SvmReader = (scope, instruction, at) =>
  instruction.data[1] === TRANSFER_CHECKED_WITH_FEE ? takeMoved(scope, instruction, at) : undefined

/** `initialize` of the token metadata interface: the mint is its third account. Source: solana-program/token-metadata. */
const takeInterfaceTexts: SvmReader = (scope, { accounts, data }) => {
  const isInitialize = Buffer.from(data.subarray(0, 8)).toString('hex') === 'd2e11ea258b84d8d'
  return isInitialize ? takeTexts(scope, accounts[2], textsAt(data, 8, 3)) : undefined
}

/** By first byte. */
const INSTRUCTIONS: Readonly<Record<number, SvmReader>> = {
  [TAG.transfer]: takeMoved,
  [TAG.transferChecked]: takeMoved,
  [TAG.transferFeeExtension]: takeWithFee,
  [TAG.mintTo]: takeSupply,
  [TAG.mintToChecked]: takeSupply,
  [TAG.burn]: takeSupply,
  [TAG.burnChecked]: takeSupply,
  [TAG.initializeMint]: takeMint,
  [TAG.initializeMint2]: takeMint,
  [TAG.setAuthority]: takeAuthority,
  [TAG.metadataInterface]: takeInterfaceTexts,
}

/** Reads both token programs; contract/chains.md 1.4 and 4.1. */
export const splToken: SvmReader = (scope, instruction, at) =>
  INSTRUCTIONS[instruction.data[0] ?? -1]?.(scope, instruction, at)

/**
 * Metaplex instructions that name a token, by their first byte: where the texts start, and which account is the mint.
 * Source: metaplex-foundation/mpl-token-metadata, instruction enum.
 */
const METAPLEX: Readonly<Record<number, { readonly texts: number; readonly mint: number }>> = {
  0: { texts: 1, mint: 1 }, // CreateMetadataAccount
  16: { texts: 1, mint: 1 }, // CreateMetadataAccountV2
  33: { texts: 1, mint: 1 }, // CreateMetadataAccountV3
  42: { texts: 2, mint: 2 }, // Create, behind the version of its arguments
}

/** Reads names of tokens from the Metaplex metadata program. */
export const metaplex: SvmReader = (scope, { accounts, data }) => {
  const row = METAPLEX[data[0] ?? -1]
  return row && takeTexts(scope, accounts[row.mint], textsAt(data, row.texts, 3))
}

/** Instructions of the system program that move coin, by their first four bytes: where the receiver stands. */
const SYSTEM: Readonly<Record<number, { readonly to: number }>> = {
  2: { to: 1 }, // Transfer
  11: { to: 2 }, // TransferWithSeed, its base between both
}

/** The row of an instruction of the system program that moves coin. */
const systemRow = (data: Uint8Array) =>
  data.length < 4 ? undefined : SYSTEM[viewOf(data).getUint32(0, true)]

/** Coin that an instruction of the system program sent; undefined for all others and for one that is cut short. */
const coinBy = (instruction: SvmInstruction) => {
  if (!isRead(instruction) || instruction.program !== PROGRAM.system) return undefined
  const { accounts, data } = instruction
  const row = systemRow(data)
  const [from] = accounts
  const to = row && accounts[row.to]
  if (data.length < 12 || from === undefined || to === undefined) return undefined
  return { from, to, amountRaw: u64(viewOf(data), 4) }
}

/** Reads moves of the chain's coin. */
export const systemProgram: SvmReader = (scope, instruction, at) => {
  if (systemRow(instruction.data) === undefined) return undefined
  const sent = coinBy(instruction)
  if (sent === undefined) return 'short-data'
  const { from, to, amountRaw } = sent
  scope.out.transfers.push({
    kind: 'transfer',
    txIndex: scope.tx.index,
    logIndex: at,
    path: pathOf(instruction),
    token: SOL,
    from,
    to: holderOf(scope, to)?.owner ?? to,
    fromAccount: from,
    toAccount: to,
    amountRaw,
    wrap: false,
  })
  return undefined
}
