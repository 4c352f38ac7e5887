import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { SvmInstruction } from '../../../schemas/events.ts'
import { dataViewOf, fieldOffsets, readPubkey, readStrings, u64 } from '../layout/borsh-layout.ts'
import { isTokenProgram, PROGRAM_IDS } from '../programs/programs.ts'
import {
  callerIndexOf,
  directInnerInstructions,
  innerInstructions,
  instructionPath,
  NATIVE_SOL,
  type SvmTxContext,
  tokenAccountOf,
} from './tx-context.ts'
import { hasData, type SvmReader } from './types.ts'

/** Instructions of both token programs by their first byte. Source: solana-program/token, token-2022 interfaces. */
const INSTRUCTION_TAG = {
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
export interface TokenTransfer {
  readonly from: string
  readonly to: string
  /** Where the instruction names it. */
  readonly mint: string | undefined
  readonly authority: string
  /** What left `from`; of a token with a transfer fee less arrives. */
  readonly amountRaw: bigint
}

/** What a token instruction moved; undefined for all others and for one that is cut short. */
const tokenTransferOf = (instruction: SvmInstruction): TokenTransfer | undefined => {
  if (!hasData(instruction) || !isTokenProgram(instruction.program)) return undefined
  const { accounts, data } = instruction
  const tag = data[0]
  const plain = tag === INSTRUCTION_TAG.transfer
  const withFee =
    tag === INSTRUCTION_TAG.transferFeeExtension && data[1] === TRANSFER_CHECKED_WITH_FEE
  if (!plain && tag !== INSTRUCTION_TAG.transferChecked && !withFee) return undefined
  const amountAt = withFee ? 2 : 1
  const from = accounts[0]
  const mint = plain ? undefined : accounts[1]
  const to = accounts[plain ? 1 : 2]
  const authority = accounts[plain ? 2 : 3]
  if (data.length < amountAt + 8 || from === undefined) return undefined
  if (to === undefined || authority === undefined) return undefined
  return { from, to, mint, authority, amountRaw: u64(dataViewOf(data), amountAt) }
}

/** What the instructions that the one at `at` called itself moved, in order. */
export const innerTransfers = (scope: SvmTxContext, at: number): readonly TokenTransfer[] => {
  const list: TokenTransfer[] = []
  for (const called of directInnerInstructions(scope, at)) {
    const moved = tokenTransferOf(called)
    if (moved !== undefined) list.push(moved)
  }
  return list
}

/** What everything below the instruction at `at` moved, in order. */
export const nestedTransfers = (scope: SvmTxContext, at: number): readonly TokenTransfer[] =>
  innerInstructions(scope, at).flatMap((ran) => tokenTransferOf(ran) ?? [])

/** Lamports that the instructions that the one at `at` called itself sent to an account. */
export const lamportsSentBelow = (scope: SvmTxContext, at: number, to: string): bigint =>
  directInnerInstructions(scope, at).reduce((sum, called) => {
    const sent = lamportTransferOf(called)
    return sent?.to === to ? sum + sent.amountRaw : sum
  }, 0n)

/** Base units of a token that the instructions below the one at `at` minted. */
export const mintedRawBelow = (scope: SvmTxContext, at: number, mint: string): bigint =>
  innerInstructions(scope, at).reduce((sum, ran) => {
    const supply = supplyChangeOf(ran)
    return supply?.type === 'mint' && supply.mint === mint ? sum + supply.amountRaw : sum
  }, 0n)

/**
 * What arrived of a transfer, without the fee that a token keeps of it: the instruction states what left, and seldom the fee. What an
 * account gained in the transaction tells what all that came in lost together; where several transfers did, each lost its share.
 * All of it where the account's balances are not reported, or other instructions add to it or take from it.
 */
export const receivedRaw = (scope: SvmTxContext, { to, amountRaw }: TokenTransfer): bigint => {
  const keptRaw = withheldFeeOf(scope, to)
  if (keptRaw === undefined || keptRaw.keptRaw <= 0n) return amountRaw
  const { keptRaw: allRaw, inRaw } = keptRaw
  return amountRaw - (amountRaw * allRaw + inRaw - 1n) / inRaw
}

/** What came to an account in a transaction, and how much of it its token kept. */
const withheldFeeOf = (
  scope: SvmTxContext,
  account: string,
): { readonly keptRaw: bigint; readonly inRaw: bigint } | undefined => {
  const held = scope.tx.tokenBalances.find((each) => each.account === account)
  if (held === undefined || held.postRaw === null) return undefined
  let inRaw = 0n
  let outRaw = 0n
  for (const instruction of scope.tx.instructions) {
    const { program, accounts } = instruction
    if (
      program !== PROGRAM_IDS.token2022 &&
      isTokenProgram(program) &&
      accounts.includes(account)
    ) {
      return undefined
    }
    if (program !== PROGRAM_IDS.token2022 || !accounts.includes(account)) continue
    const moved = tokenTransferOf(instruction)
    const supply = moved === undefined ? supplyChangeOf(instruction) : undefined
    if (supply !== undefined) return undefined
    if (moved?.to === account) inRaw += moved.amountRaw
    if (moved?.from === account) outRaw += moved.amountRaw
  }
  const keptRaw = inRaw - outRaw - (held.postRaw - (held.preRaw ?? 0n))
  return inRaw === 0n || keptRaw > inRaw ? undefined : { keptRaw, inRaw }
}

/** What a token account holds behind the instruction at `at`; undefined where a later one touches it again. */
export const balanceAfter = (
  scope: SvmTxContext,
  at: number,
  account: string,
): bigint | undefined => {
  const { instructions } = scope.tx
  for (
    let next = at + 1 + innerInstructions(scope, at).length;
    next < instructions.length;
    next += 1
  ) {
    const item = instructions[next]
    if (item && isTokenProgram(item.program) && item.accounts.includes(account)) return undefined
  }
  return tokenAccountOf(scope, account)?.postRaw ?? undefined
}

/** Who burnt tokens right below the instruction at `at`. */
export const burnAuthorityBelow = (scope: SvmTxContext, at: number): string | undefined => {
  for (const called of directInnerInstructions(scope, at)) {
    const supply = supplyChangeOf(called)
    if (supply?.type === 'burn') return supply.authority
  }
  return undefined
}

interface SupplyChange {
  readonly type: 'mint' | 'burn'
  readonly mint: string
  readonly authority: string
  readonly amountRaw: bigint
}

/** Amount of a MintTo or a Burn with the mint and who allowed it; undefined for all others. */
const supplyChangeOf = (instruction: SvmInstruction): SupplyChange | undefined => {
  if (!hasData(instruction) || !isTokenProgram(instruction.program)) return undefined
  const { accounts, data } = instruction
  const tag = data[0]
  const mints = tag === INSTRUCTION_TAG.mintTo || tag === INSTRUCTION_TAG.mintToChecked
  if (!mints && tag !== INSTRUCTION_TAG.burn && tag !== INSTRUCTION_TAG.burnChecked)
    return undefined
  const mint = accounts[mints ? 0 : 1]
  const authority = accounts[2]
  if (data.length < 9 || mint === undefined || authority === undefined) return undefined
  return { type: mints ? 'mint' : 'burn', mint, authority, amountRaw: u64(dataViewOf(data), 1) }
}

const readTransfer: SvmReader = (scope, instruction, at) => {
  const moved = tokenTransferOf(instruction)
  if (moved === undefined) return 'truncated-data'
  const from = tokenAccountOf(scope, moved.from)
  const to = tokenAccountOf(scope, moved.to)
  const token = moved.mint ?? from?.mint ?? to?.mint
  if (token === undefined) return 'unknown-token'
  scope.out.transfers.push({
    kind: 'transfer',
    txIndex: scope.tx.index,
    logIndex: at,
    path: instructionPath(instruction),
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

const readSupplyChange: SvmReader = (scope, instruction, at) => {
  const moved = supplyChangeOf(instruction)
  if (moved === undefined) return 'truncated-data'
  scope.out.supplies.push({
    kind: 'supply',
    txIndex: scope.tx.index,
    logIndex: at,
    path: instructionPath(instruction),
    type: moved.type,
    token: moved.mint,
    amountRaw: moved.amountRaw,
  })
  return undefined
}

const INITIALIZE_MINT = fieldOffsets({
  tag: 'u8',
  decimals: 'u8',
  mintAuthority: 'key',
  hasFreeze: 'bool',
})

/** No pools, and their own mints are shares: the vaults under the pools of Meteora's DAMM v1 make one per token. */
const LP_TOKEN_PROGRAMS: ReadonlySet<string> = new Set([PROGRAM_IDS.meteoraVault])

/** A mint that a listed program makes itself is its liquidity token or its launch. */
const readInitializeMint: SvmReader = (scope, instruction, at) => {
  const { accounts, data, program } = instruction
  const [mint] = accounts
  if (data.length < INITIALIZE_MINT.hasFreeze || mint === undefined) return 'truncated-data'
  const caller = scope.tx.instructions[callerIndexOf(scope, at)]
  const frozen = data[INITIALIZE_MINT.hasFreeze] === 1 && data.length >= INITIALIZE_MINT.end + 32
  const txIndex = scope.tx.index
  const path = instructionPath(instruction)
  scope.newMints.mints.set(mint, {
    txIndex,
    logIndex: at,
    path,
    program,
    decimals: data[INITIALIZE_MINT.decimals] ?? 0,
    mintAuthority: readPubkey(data, INITIALIZE_MINT.mintAuthority),
    freezeAuthority: frozen ? readPubkey(data, INITIALIZE_MINT.end) : null,
    byListedProgram:
      caller !== undefined &&
      (scope.context.protocols.factory(caller.program) !== undefined ||
        LP_TOKEN_PROGRAMS.has(caller.program)),
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

const SET_AUTHORITY = fieldOffsets({ tag: 'u8', type: 'u8', has: 'bool', key: 'key' })
const AUTHORITY_FIELDS = ['mintAuthority', 'freezeAuthority'] as const

/** Only of mints that the transaction made: others' authorities are not events of ours. */
const readSetAuthority: SvmReader = ({ newMints: { mints } }, { accounts, data }) => {
  const [mint] = accounts
  const made = mint === undefined ? undefined : mints.get(mint)
  const name = AUTHORITY_FIELDS[data[SET_AUTHORITY.type] ?? -1]
  if (made === undefined || mint === undefined || name === undefined) return undefined
  const kept = data[SET_AUTHORITY.has] === 1 && data.length >= SET_AUTHORITY.end
  mints.set(mint, { ...made, [name]: kept ? readPubkey(data, SET_AUTHORITY.key) : null })
  return undefined
}

const setMintMetadata = (
  { newMints }: SvmTxContext,
  mint: string | undefined,
  reported: ReturnType<typeof readStrings>,
): DropReason | undefined => {
  if (reported === undefined || mint === undefined) return 'truncated-data'
  const [name = '', symbol = '', uri = ''] = reported.texts
  newMints.metadata.set(mint, [name, symbol, uri])
  return undefined
}

const readTransferWithFee: SvmReader = (scope, instruction, at) =>
  instruction.data[1] === TRANSFER_CHECKED_WITH_FEE
    ? readTransfer(scope, instruction, at)
    : undefined

/** `initialize` of the token metadata interface: the mint is its third account. Source: solana-program/token-metadata. */
const readInitializeMetadata: SvmReader = (scope, { accounts, data }) => {
  const isInitialize = Buffer.from(data.subarray(0, 8)).toString('hex') === 'd2e11ea258b84d8d'
  return isInitialize ? setMintMetadata(scope, accounts[2], readStrings(data, 8, 3)) : undefined
}

/** By first byte. */
const INSTRUCTIONS: Readonly<Record<number, SvmReader>> = {
  [INSTRUCTION_TAG.transfer]: readTransfer,
  [INSTRUCTION_TAG.transferChecked]: readTransfer,
  [INSTRUCTION_TAG.transferFeeExtension]: readTransferWithFee,
  [INSTRUCTION_TAG.mintTo]: readSupplyChange,
  [INSTRUCTION_TAG.mintToChecked]: readSupplyChange,
  [INSTRUCTION_TAG.burn]: readSupplyChange,
  [INSTRUCTION_TAG.burnChecked]: readSupplyChange,
  [INSTRUCTION_TAG.initializeMint]: readInitializeMint,
  [INSTRUCTION_TAG.initializeMint2]: readInitializeMint,
  [INSTRUCTION_TAG.setAuthority]: readSetAuthority,
  [INSTRUCTION_TAG.metadataInterface]: readInitializeMetadata,
}

/** Reads both token programs. */
export const splToken: SvmReader = (scope, instruction, at) =>
  INSTRUCTIONS[instruction.data[0] ?? -1]?.(scope, instruction, at)

/**
 * Metaplex instructions that name a token, by their first byte: where the texts start, and which account is the mint.
 * Source: metaplex-foundation/mpl-token-metadata, instruction enum.
 */
const METAPLEX_INSTRUCTIONS: Readonly<
  Record<number, { readonly texts: number; readonly mint: number }>
> = {
  0: { texts: 1, mint: 1 }, // CreateMetadataAccount
  16: { texts: 1, mint: 1 }, // CreateMetadataAccountV2
  33: { texts: 1, mint: 1 }, // CreateMetadataAccountV3
  42: { texts: 2, mint: 2 }, // Create, behind the version of its arguments
}

/** Reads names of tokens from the Metaplex metadata program. */
export const metaplex: SvmReader = (scope, { accounts, data }) => {
  const row = METAPLEX_INSTRUCTIONS[data[0] ?? -1]
  return row && setMintMetadata(scope, accounts[row.mint], readStrings(data, row.texts, 3))
}

/** Instructions of the system program that transfer lamports, by their first four bytes: where the receiver stands. */
const SYSTEM_TRANSFERS: Readonly<Record<number, { readonly to: number }>> = {
  2: { to: 1 }, // Transfer
  11: { to: 2 }, // TransferWithSeed, its base between both
}

/** The row of an instruction of the system program that transfers lamports. */
const systemTransferLayout = (data: Uint8Array) =>
  data.length < 4 ? undefined : SYSTEM_TRANSFERS[dataViewOf(data).getUint32(0, true)]

/** Lamports that an instruction of the system program sent; undefined for all others and for one that is cut short. */
const lamportTransferOf = (instruction: SvmInstruction) => {
  if (!hasData(instruction) || instruction.program !== PROGRAM_IDS.system) return undefined
  const { accounts, data } = instruction
  const row = systemTransferLayout(data)
  const [from] = accounts
  const to = row && accounts[row.to]
  if (data.length < 12 || from === undefined || to === undefined) return undefined
  return { from, to, amountRaw: u64(dataViewOf(data), 4) }
}

/** Reads transfers of the chain's native token. */
export const systemProgram: SvmReader = (scope, instruction, at) => {
  if (systemTransferLayout(instruction.data) === undefined) return undefined
  const sent = lamportTransferOf(instruction)
  if (sent === undefined) return 'truncated-data'
  const { from, to, amountRaw } = sent
  scope.out.transfers.push({
    kind: 'transfer',
    txIndex: scope.tx.index,
    logIndex: at,
    path: instructionPath(instruction),
    token: NATIVE_SOL,
    from,
    to: tokenAccountOf(scope, to)?.owner ?? to,
    fromAccount: from,
    toAccount: to,
    amountRaw,
    wrap: false,
  })
  return undefined
}
