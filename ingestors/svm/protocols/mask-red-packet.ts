import type { RedPacketReport } from '../../../schemas/red-packet-reports.ts'
import { cleanText } from '../../input/text.ts'
import { dataViewOf, fieldOffsets, readPubkey, readStrings, u64 } from '../layout/borsh-layout.ts'
import { innerTransfers } from './spl-token.ts'
import { instructionPath, WRAPPED_SOL } from './tx-context.ts'
import {
  type InstructionContext,
  type InstructionReader,
  readByInstruction,
  type SvmFamily,
} from './types.ts'
import { accountsByName } from './vault-hops.ts'

/** Arguments of both creations up to their two texts, name and message. */
const CREATION = fieldOffsets({
  discriminator: 'u64',
  totalNumber: 'u8',
  totalAmount: 'u64',
  createTime: 'u64',
  duration: 'u64',
  isRandom: 'bool',
  claimAuthority: 'key',
})

const NATIVE_ACCOUNTS = { signer: 0, packet: 1 } as const
const OF_TOKEN = { signer: 0, packet: 1, mint: 2, account: 3, vault: 4 } as const
const MAX_MEMO = 256
/** Seconds in 32 bits: later times are a mistake that the program takes. */
const MAX_SECONDS = 1n << 32n

const addEvent = (
  { scope, row, program, instruction, at }: InstructionContext,
  event: RedPacketReport,
): undefined => {
  scope.out.redPackets.push({
    txIndex: scope.tx.index,
    logIndex: at,
    path: instructionPath(instruction),
    protocol: row.id,
    contract: program,
    ...event,
  })
}

const create =
  (mint?: number): InstructionReader =>
  (reading) => {
    const { data } = reading.instruction
    const named = accountsByName(reading, NATIVE_ACCOUNTS)
    const token = mint === undefined ? WRAPPED_SOL : reading.instruction.accounts[mint]
    if (named === undefined || token === undefined) return 'missing-account'
    const texts = data.length < CREATION.end ? undefined : readStrings(data, CREATION.end, 2)
    if (texts === undefined) return 'truncated-data'
    const view = dataViewOf(data)
    const createTime = u64(view, CREATION.createTime)
    const duration = u64(view, CREATION.duration)
    if (createTime >= MAX_SECONDS || duration >= MAX_SECONDS) return 'impossible-amount'
    return addEvent(reading, {
      kind: 'packet-created',
      packetId: named.packet,
      creator: named.signer,
      token,
      totalRaw: u64(view, CREATION.totalAmount),
      maxClaims: data[CREATION.totalNumber] ?? 0,
      isRandom: data[CREATION.isRandom] === 1,
      createdAtMs: Number(createTime) * 1_000,
      ends: { afterSeconds: Number(duration) },
      authority: readPubkey(data, CREATION.claimAuthority),
      memo: cleanText(texts.texts[1] ?? '', MAX_MEMO) ?? '',
    })
  }

/** A claim of the native token transfers lamports without an instruction: what the packet lost, where nothing else of the program touched it. */
const claimNative: InstructionReader = (reading) => {
  const { tx } = reading.scope
  const named = accountsByName(reading, NATIVE_ACCOUNTS)
  if (named === undefined) return 'missing-account'
  const { packet, signer } = named
  const uses = tx.instructions.filter(
    ({ program, accounts }) =>
      program === reading.program && accounts[NATIVE_ACCOUNTS.packet] === packet,
  )
  const held = tx.lamports.find(({ account }) => account === packet)
  if (uses.length !== 1) return 'ambiguous-amount'
  if (held === undefined || held.postRaw >= held.preRaw) return 'no-transfers'
  return addEvent(reading, {
    kind: 'packet-claimed',
    packetId: packet,
    claimer: signer,
    token: WRAPPED_SOL,
    amountRaw: held.preRaw - held.postRaw,
    index: null,
  })
}

/** What the instruction moved out of the packet's vault. */
const paidOut = (reading: InstructionContext, vault: string): bigint | undefined =>
  innerTransfers(reading.scope, reading.at).find(({ from }) => from === vault)?.amountRaw

const claimToken: InstructionReader = (reading) => {
  const named = accountsByName(reading, OF_TOKEN)
  if (named === undefined) return 'missing-account'
  const amountRaw = paidOut(reading, named.vault)
  if (amountRaw === undefined) return 'no-transfers'
  return addEvent(reading, {
    kind: 'packet-claimed',
    packetId: named.packet,
    claimer: named.signer,
    token: named.mint,
    amountRaw,
    index: null,
  })
}

/** The account is closed: what it held is what was left and its rent, which the instruction does not tell apart. */
const withdrawNative: InstructionReader = (reading) => {
  const named = accountsByName(reading, NATIVE_ACCOUNTS)
  if (named === undefined) return 'missing-account'
  const { packet: packetId } = named
  return addEvent(reading, {
    kind: 'packet-refunded',
    packetId,
    token: WRAPPED_SOL,
    amountRaw: null,
  })
}

const withdrawToken: InstructionReader = (reading) => {
  const named = accountsByName(reading, OF_TOKEN)
  if (named === undefined) return 'missing-account'
  const amountRaw = paidOut(reading, named.vault) ?? null
  return addEvent(reading, {
    kind: 'packet-refunded',
    packetId: named.packet,
    token: named.mint,
    amountRaw,
  })
}

/**
 * Gifts of a token or of SOL that several addresses share. The program emits no events: its instructions are read, and amounts come
 * from what they moved. Tags are the first eight bytes of sha256("global:<name>"). Source: the program's public IDL, `redpacket` 0.1.0.
 */
export const maskRedPacket: SvmFamily = {
  family: 'mask_red_packet',
  reader: readByInstruction({
    '109de2ec747bf66f': create(), // create_red_packet_with_native_token
    '6d314f1ec681ac6a': create(OF_TOKEN.mint), // create_red_packet_with_spl_token
    dfc52db589ddf7cc: claimNative, // claim_with_native_token
    ab53a61d36b18145: claimToken, // claim_with_spl_token
    d3f28069aa8a4314: withdrawNative, // withdraw_with_native_token
    '9237aecdb36b467c': withdrawToken, // withdraw_with_spl_token
  }),
}
