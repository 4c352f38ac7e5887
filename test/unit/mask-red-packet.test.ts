import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { SvmTransaction } from '../../schemas/events.ts'
import {
  addressFor,
  borshFields,
  borshText,
  decodeInstructions,
  type InstructionInput,
  tokenTransferInstruction,
} from '../support/builders/svm-block.ts'

const PROGRAM = 'CXT16oAAbmgpPZsL2sGmfSUNrATk3AsFVU18thTUVNxx'
const WSOL = CHAINS.sol.wrappedNative
const [USER, PACKET, MINT] = [addressFor('user'), addressFor('packet'), addressFor('mint')]
const [TOKENS, VAULT, AUTHORITY] = [addressFor('tokens'), addressFor('vault'), addressFor('key')]

const tagOf = (name: string): Buffer =>
  createHash('sha256').update(`global:${name}`).digest().subarray(0, 8)

const call = (
  name: string,
  { args = Buffer.alloc(0) as Buffer, calls = [] as readonly InstructionInput[], size = 5 } = {},
): InstructionInput => ({
  program: PROGRAM,
  accounts: [USER, PACKET, MINT, TOKENS, VAULT].slice(0, size),
  data: Buffer.concat([tagOf(name), args]),
  calls,
})

const creation = ({ duration = 3_600n, createTime = 1_700_000_000n } = {}): Buffer =>
  Buffer.concat([
    Buffer.from([4]),
    borshFields(1_000n, createTime, duration, true, AUTHORITY),
    borshText('Ann'),
    borshText('Good\tluck'),
  ])

const paid = (from: string, to: string, amountRaw: bigint): InstructionInput =>
  tokenTransferInstruction([from, to, PACKET], amountRaw)

const lamports = (preRaw: bigint, postRaw: bigint): Partial<SvmTransaction> => ({
  lamports: [{ account: PACKET, preRaw, postRaw }],
})

const head = {
  txIndex: 0,
  logIndex: 0,
  path: { outer: 0, inner: null },
  protocol: 'mask_red_packet',
  contract: PROGRAM,
  packetId: PACKET,
}

test('creation instructions give every field of a red packet', () => {
  for (const [name, token] of [
    ['create_red_packet_with_native_token', WSOL],
    ['create_red_packet_with_spl_token', MINT],
  ] as const) {
    const { redPackets, dropped } = decodeInstructions([call(name, { args: creation() })])
    assert.deepEqual(dropped, [])
    assert.deepEqual(redPackets, [
      {
        kind: 'packet-created',
        ...head,
        creator: USER,
        token,
        totalRaw: 1_000n,
        maxClaims: 4,
        isRandom: true,
        createdAtMs: 1_700_000_000_000,
        ends: { afterSeconds: 3_600 },
        authority: AUTHORITY,
        memo: 'Good luck',
      },
    ])
  }
})

test('a claim has the amount that it transferred', () => {
  const ofToken = call('claim_with_spl_token', {
    calls: [paid(TOKENS, VAULT, 1n), paid(VAULT, TOKENS, 250n)],
  })
  const [token] = decodeInstructions([ofToken]).redPackets
  const fields = { kind: 'packet-claimed', ...head, claimer: USER, index: null }
  assert.deepEqual(token, { ...fields, token: MINT, amountRaw: 250n })
  const ofCoin = call('claim_with_native_token', { size: 2 })
  const [coin] = decodeInstructions([ofCoin], lamports(900n, 600n)).redPackets
  assert.deepEqual(coin, { ...fields, token: WSOL, amountRaw: 300n })
})

test('a refund of the native token has no amount, because rent is part of it', () => {
  const fields = { kind: 'packet-refunded', ...head }
  const ofCoin = call('withdraw_with_native_token', { size: 2 })
  const [coin] = decodeInstructions([ofCoin], lamports(900n, 0n)).redPackets
  assert.deepEqual(coin, { ...fields, token: WSOL, amountRaw: null })
  const ofToken = call('withdraw_with_spl_token', { calls: [paid(VAULT, TOKENS, 750n)] })
  const [token] = decodeInstructions([ofToken]).redPackets
  assert.deepEqual(token, { ...fields, token: MINT, amountRaw: 750n })
})

test('an invalid red packet instruction is dropped with its reason', () => {
  const claimCoin = call('claim_with_native_token', { size: 2 })
  const create = 'create_red_packet_with_native_token'
  const cases: readonly (readonly [
    readonly InstructionInput[],
    Partial<SvmTransaction>,
    string,
  ])[] = [
    [[claimCoin], {}, 'no-transfers'],
    [[claimCoin], lamports(600n, 900n), 'no-transfers'],
    [[call('claim_with_native_token', { size: 1 })], {}, 'missing-account'],
    [[call('claim_with_spl_token')], {}, 'no-transfers'],
    [[call('claim_with_spl_token', { size: 4 })], {}, 'missing-account'],
    [[call(create, { args: creation().subarray(0, 40) })], {}, 'truncated-data'],
    [[call(create, { args: creation().subarray(0, -1) })], {}, 'truncated-data'],
    [[call(create, { args: creation({ duration: 1n << 40n }) })], {}, 'impossible-amount'],
    [[call(create, { args: creation({ createTime: 1n << 40n }) })], {}, 'impossible-amount'],
  ]
  for (const [calls, more, reason] of cases) {
    const { redPackets, dropped } = decodeInstructions(calls, more)
    assert.deepEqual([redPackets, dropped.map((each) => each.reason)], [[], [reason]])
  }
  const twice = decodeInstructions([claimCoin, claimCoin], lamports(900n, 600n))
  assert.deepEqual(
    [twice.redPackets, twice.dropped.map(({ reason }) => reason)],
    [[], ['ambiguous-amount', 'ambiguous-amount']],
  )
  const other = { ...call(create, { args: creation() }), program: PROGRAM_IDS.metadata }
  assert.deepEqual(decodeInstructions([other]).redPackets, [])
})
