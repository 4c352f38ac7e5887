import assert from 'node:assert/strict'
import { test } from 'node:test'
import { base58Decode } from '../../core/base58.ts'
import { normalizeTransaction } from '../../ingestors/svm/normalize/block.ts'
import { parseRewards } from '../../ingestors/svm/normalize/rewards.ts'
import { ALL_PROGRAMS, withAllInstructions } from '../../ingestors/svm/programs/programs.ts'
import { instructionEvents, rewardEvents } from '../../ingestors/svm/to-wire/feeds.ts'
import type { SvmBlock } from '../../schemas/events.ts'
import {
  recordedSolanaBlock,
  solanaRecordingJson,
  solanaRecordingNames,
} from '../support/recordings/solana.ts'

/** A recorded transaction as a node answered for it, as far as the walks below read it. */
interface Answer {
  readonly meta: {
    readonly err: unknown
    readonly logMessages: readonly string[]
    readonly innerInstructions: readonly {
      readonly index: number
      readonly instructions: readonly { readonly data?: string }[]
    }[]
  }
}

const answerOf = (name: string): Answer => {
  const { getTransaction, getTransactionJson, ...bare } = solanaRecordingJson(name)
  return (getTransaction ?? getTransactionJson ?? bare) as unknown as Answer
}

/** The recorded transaction as the source of a chain with the feed reads it. */
const whole = (name: string): SvmBlock => {
  const block = recordedSolanaBlock(name)
  const programs = withAllInstructions(ALL_PROGRAMS)
  const tx = normalizeTransaction(answerOf(name), { index: 0, programs })
  return { ...block, transactions: tx === undefined ? [] : [tx] }
}

const BARE = solanaRecordingNames().filter((name) => answerOf(name).meta !== undefined)

test('the instruction feed holds every instruction of a recording, inner ones after their caller', () => {
  assert.ok(BARE.length >= 20)
  let inner = 0
  for (const name of BARE) {
    const block = whole(name)
    const events = instructionEvents(block).map(({ event }) => event)
    const { meta } = answerOf(name)
    const groups = meta.innerInstructions ?? []
    const told = groups.reduce((sum, { instructions }) => sum + instructions.length, 0)
    const below = events.filter(({ depth = 0 }) => depth > 1)
    assert.equal(below.length, meta.err === null ? told : 0, name)
    assert.deepEqual(
      events.map(({ internal_seq }) => internal_seq),
      events.map((_, index) => index),
    )
    const paths = events.map(({ call_path = [] }) => call_path)
    assert.equal(new Set(paths.map(String)).size, paths.length, `${name}: a path names one`)
    for (const [index, { call_path = [], depth, ix_index }] of events.entries()) {
      assert.equal(call_path.length, depth)
      assert.equal(call_path[0], ix_index)
      const caller = String(call_path.slice(0, -1))
      const before = paths.slice(0, index).map(String)
      assert.ok(call_path.length === 1 || before.includes(caller), `${name} ${call_path}`)
    }
    for (const { index, instructions } of groups) {
      const got = below.filter(({ ix_index }) => ix_index === index).map(({ data }) => data)
      for (const [place, { data }] of instructions.entries()) {
        if (data !== undefined && meta.err === null) assert.equal(got[place], data, name)
      }
    }
    inner += below.length
  }
  assert.ok(inner > 200)
})

test('the instruction feed holds data, names and log lines of instructions without a decoder', () => {
  const name = BARE.find((each) => each.startsWith('swap_photon')) ?? ''
  const events = instructionEvents(whole(name)).map(({ event }) => event)
  const budget = events.find(({ program_name }) => program_name === 'Compute Budget')
  assert.ok((base58Decode(budget?.data ?? '')?.length ?? 0) > 0)
  assert.equal(budget?.method, null, 'not in the table')
  const methods = new Set(events.map(({ method }) => method))
  assert.ok(methods.has('transferChecked') || methods.has('transfer'), [...methods].join())
  const lines = events.flatMap(({ logs = [] }) => logs)
  const written = answerOf(name).meta.logMessages.filter((line) =>
    /^Program (log|data|return): /.test(line),
  )
  assert.deepEqual(lines.toSorted(), written.toSorted())
})

test('the call path of an instruction is limited to 64 entries for any depth that a node reports', () => {
  const block = whole(BARE[0] ?? '')
  const transactions = block.transactions.map((tx) => ({
    ...tx,
    instructions: tx.instructions.map((each) => ({ ...each, depth: Number.MAX_SAFE_INTEGER })),
  }))
  const [first] = instructionEvents({ ...block, transactions })
  assert.equal(first?.event.call_path?.length, 64)
})

test('the rewards feed holds the rewards of recorded Solana blocks', () => {
  const rent = rewardEvents(recordedSolanaBlock('block_account_deletion.json'))
  assert.deepEqual(
    rent.map(({ key, event }) => [key, event.amount, event.post_balance, event.reward_type]),
    [
      ['HoXANZnWTGeePertqWkMEnnhgXjTjzpfWaT2kja2ZgVU', '1', '8054578048', 'Rent'],
      ['96XWbKem84optM8RLHhc8EYJQG8CCWA8F6oqWMPHDweN', '1', '12840544239', 'Rent'],
      ['EAwpknXgKuZigFzLu6ybAjnJUBZh2WgX51bRh8aQRtLW', '1', '2164433213', 'Rent'],
    ],
  )
  const [fee] = rewardEvents(recordedSolanaBlock('yellowstone_block_344556402.json'))
  assert.equal(fee?.event.amount, '15767166')
  assert.equal(fee?.event.reward_type, 'Fee')
  assert.equal(fee?.event.commission, null)
  assert.equal(fee?.event.block_height, 322_769_279)
})

test('a Solana reward may be negative; an invalid one is refused', () => {
  const said = { pubkey: 'HoXANZnWTGeePertqWkMEnnhgXjTjzpfWaT2kja2ZgVU', postBalance: 5 }
  assert.equal(parseRewards([{ ...said, lamports: -7 }])[0]?.amountRaw, -7n)
  assert.deepEqual(parseRewards(null), [])
  assert.throws(() => parseRewards([{ ...said, lamports: 0.5 }]), { reason: 'bad-amount' })
  assert.throws(() => parseRewards([{ ...said, lamports: 1, commission: 101 }]), {
    reason: 'bad-number',
  })
})
