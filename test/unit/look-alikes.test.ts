import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AssessmentRow } from '../../serving/risk/assessment.ts'
import { createWithdrawalTargets } from '../../serving/risk/look-alikes.ts'

interface Withdrawal {
  readonly orgId?: string
  readonly id: string
  readonly kind?: string
  readonly chain?: string
  readonly address: string
  readonly createdAt?: number
  readonly isReadable?: boolean
}

const rowOf = ({
  orgId = 'a',
  id,
  kind = 'withdrawal',
  chain = 'eth',
  address,
  createdAt = 0,
  isReadable = true,
}: Withdrawal): AssessmentRow => ({
  id,
  org_id: orgId,
  kind,
  status: 'PENDING',
  request: isReadable ? JSON.stringify({ kind, chain, address, memo: 'm'.repeat(200) }) : '{',
  labels_version: 0,
  created_at: createdAt,
  updated_at: createdAt,
  next_at: 0,
})

const known = `0xabcd${'1'.repeat(32)}ef01`
const fake = `0xabcd${'2'.repeat(32)}ef01`
const target = (address: string) => ({ chain: 'eth', address })

test('a target imitates earlier ones of its organization and chain with the same ends', () => {
  const targets = createWithdrawalTargets()
  const asked = rowOf({ id: 'asked', address: fake, createdAt: 10 })
  for (const [index, other] of [
    { address: known, createdAt: 5 },
    { address: known, createdAt: 6 },
    { address: fake, createdAt: 7 },
    { address: `0xabcd${'3'.repeat(32)}ef02`, createdAt: 7 },
    { address: `0xabcd${'4'.repeat(32)}ef01`, createdAt: 10 },
    { address: `0xabcd${'5'.repeat(32)}ef01`, createdAt: 7, chain: 'bsc' },
    { address: `0xabcd${'6'.repeat(32)}ef01`, createdAt: 7, orgId: 'b' },
    { address: `0xabcd${'7'.repeat(32)}ef01`, createdAt: 7, kind: 'address' },
    { address: `0xabcd${'8'.repeat(32)}ef01`, createdAt: 7, isReadable: false },
  ].entries())
    targets.set(rowOf({ id: `${index}`, ...other }))
  targets.set(asked)
  assert.deepEqual(targets.lookAlikesOf(asked, target(fake)), [known])
  assert.deepEqual(targets.lookAlikesOf(asked, target(known)), [fake])
  assert.deepEqual(targets.lookAlikesOf(asked, { chain: 'sol', address: fake }), [])
  targets.remove('a', '0')
  assert.deepEqual(targets.lookAlikesOf(asked, target(fake)), [known])
  targets.remove('a', '1')
  targets.remove('a', 'never there')
  assert.deepEqual(targets.lookAlikesOf(asked, target(fake)), [])
})

/** The look-alikes of a record by a look at every record of its organization. */
const byScan = (
  rows: ReadonlyMap<string, AssessmentRow>,
  record: AssessmentRow,
  { chain, address }: { readonly chain: string; readonly address: string },
): readonly string[] => {
  const ends = (text: string) => text.replace(/^0x/, '').replace(/^(.{4}).*(.{4})$/s, '$1$2')
  const earlier = [...rows.values()].flatMap((row) => {
    if (row.org_id !== record.org_id || row.created_at >= record.created_at) return []
    try {
      const asked = JSON.parse(row.request)
      return row.kind === 'withdrawal' && asked.chain === chain ? [String(asked.address)] : []
    } catch {
      return []
    }
  })
  return [...new Set(earlier)].filter((each) => each !== address && ends(each) === ends(address))
}

test('records that come, change and go in any order have the look-alikes of a look at all of them', () => {
  const address = fc
    .tuple(fc.constantFrom('0xaaaa', '0xaaab'), fc.nat(3), fc.constantFrom('cccc', 'cccd'))
    .map(([start, middle, end]) => `${start}${`${middle}`.repeat(32)}${end}`)
  const id = fc.nat(9).map(String)
  const orgId = fc.constantFrom('a', 'b')
  const set = fc.record({
    orgId,
    id,
    kind: fc.constantFrom('withdrawal', 'withdrawal', 'withdrawal', 'address'),
    chain: fc.constantFrom('eth', 'bsc'),
    address,
    createdAt: fc.nat(5),
    isReadable: fc.constantFrom(true, true, true, false),
  })
  const removal = fc.record({ orgId, id })
  let found = 0
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 5, arbitrary: set }, removal), {
        minLength: 10,
        maxLength: 60,
        size: 'max',
      }),
      (steps) => {
        const targets = createWithdrawalTargets()
        const rows = new Map<string, AssessmentRow>()
        for (const step of steps) {
          const key = `${step.orgId}/${step.id}`
          if ('address' in step) {
            // A record keeps its kind: the id follows from it.
            const kind = rows.get(key)?.kind ?? step.kind
            const row = rowOf({ ...step, kind })
            rows.set(key, row)
            targets.set(row)
          } else {
            rows.delete(key)
            targets.remove(step.orgId, step.id)
          }
        }
        for (const step of steps) {
          if (!('address' in step)) continue
          const looked = targets.lookAlikesOf(rowOf(step), step)
          assert.deepEqual(looked, byScan(rows, rowOf(step), step))
          found += looked.length
        }
      },
    ),
    { numRuns: 500 },
  )
  assert.ok(found > 100)
})

test('a look among ten thousand withdrawals costs little', () => {
  const targets = createWithdrawalTargets()
  const addressOf = (index: number) => `0x${(index * 2_654_435_761).toString(16).padStart(40, '7')}`
  const rows = Array.from({ length: 10_000 }, (_, index) =>
    rowOf({ id: `${index}`, address: addressOf(index), createdAt: index }),
  )
  for (const row of rows) targets.set(row)
  const before = process.cpuUsage()
  for (const [index, row] of rows.entries()) targets.lookAlikesOf(row, target(addressOf(index)))
  const { user } = process.cpuUsage(before)
  // A look at every record took 20 ms.
  assert.ok(user / 1_000 / rows.length < 1, `${user / 1_000} ms for ${rows.length}`)
})
