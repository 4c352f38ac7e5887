import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeDeferred } from '../../core/runtime/deferred.ts'
import { shareIdOf } from '../../core/share-id.ts'
import { createUsageTotals } from '../../serving/billing/usage-totals.ts'
import type { RedPacketRow, RedPacketTotals } from '../../serving/queries/red-packets.ts'
import { claimBody, packetBody, packetBodyV1 } from '../../serving/red-packets/packet-body.ts'
import { storedPacketId } from '../../serving/red-packets/packet-reader.ts'
import { createPasswordAttempts } from '../../serving/red-packets/password-attempts.ts'
import {
  createPasswordAuthority,
  signerOfMessage,
} from '../../serving/red-packets/password-authority.ts'

const CREATED_MS = 1_700_000_000_000
const row: RedPacketRow = {
  chain: 'sol',
  packet_id: 'packet',
  slot: '7',
  event: 0,
  share_id: '7TqVxm3Kfa',
  tx: 'tx',
  protocol: 'p',
  contract: 'c',
  creator: 'creator',
  mint: 'mint',
  total: '1000',
  max_claims: 3,
  is_random: 0,
  memo: '',
  authority: '',
  created_ms: String(CREATED_MS),
  seconds: 60,
}
const paid = (more: Partial<RedPacketTotals>) => ({
  claims: 0,
  claimed: '0',
  refunds: 0,
  refunded: '0',
  unsaid: 0,
  ...more,
})
const [BEFORE, END] = [CREATED_MS + 59_999, CREATED_MS + 60_000]

test('the state of a red packet follows from its events and the chain time', () => {
  const cases: readonly (readonly [
    Partial<RedPacketTotals> | undefined,
    number,
    readonly [status: string, expired: boolean, refunded: string],
  ])[] = [
    [undefined, CREATED_MS, ['active', false, '0']],
    [{ claims: 2, claimed: '600' }, BEFORE, ['active', false, '0']],
    [undefined, END, ['expired', true, '0']],
    [{ claims: 2, claimed: '600' }, END, ['expired', true, '0']],
    [{ claims: 3, claimed: '1000' }, BEFORE, ['exhausted', false, '0']],
    [{ claims: 3, claimed: '1000' }, END, ['exhausted', true, '0']],
    [{ claims: 1, claimed: '300', refunds: 1, refunded: '700' }, END, ['withdrawn', true, '700']],
    [{ refunds: 1, unsaid: 1 }, BEFORE, ['withdrawn', true, '1000']],
    [{ claims: 1, claimed: '300', refunds: 1, unsaid: 1 }, END, ['withdrawn', true, '700']],
    [{ claims: 3, claimed: '1000', refunds: 1, unsaid: 1 }, END, ['withdrawn', true, '0']],
  ]
  for (const [totals, chainTimeMs, expected] of cases) {
    const body = packetBody({ row, totals: totals && paid(totals), chainTimeMs })
    assert.deepEqual([body.status, body.expired, body.refundedAmount], expected)
    assert.deepEqual([body.createdAt, body.expiredAt, body.expiration], [CREATED_MS, END, 60])
  }
})

test('a packet body of version 1 has every field, and all digits of the claimed amount', () => {
  const claimed = '123456789012345678901234567890'
  const state = { row, totals: paid({ claims: 1, claimed }), chainTimeMs: BEFORE }
  const body = packetBody(state)
  assert.deepEqual([body.memo, body.claimAuthority, body.claimedAmount], [null, null, claimed])
  const old = packetBodyV1(body)
  assert.deepEqual([old.memo, old.claimAuthority, old.claimedAmount], ['', '', BigInt(claimed)])
})

test('a claim takes the fields that its own event lacks from its packet', () => {
  const claim = {
    chain: 'sol',
    packet_id: 'packet',
    slot: '8',
    event: 0,
    claimer: 'who',
    amount: '5',
    time_ms: '7',
    tx: 't',
  }
  assert.deepEqual(claimBody({ ...claim, mint: '' }, row).mint, 'mint')
  assert.deepEqual(claimBody({ ...claim, mint: 'own' }, row).mint, 'own')
  const alone = claimBody({ ...claim, mint: '' }, undefined)
  assert.deepEqual([alone.mint, alone.creator], ['', null])
})

test('packet ids are normalized, and invalid ones answer RED_PACKET_NOT_FOUND', () => {
  assert.equal(storedPacketId(`0x${'AB'.repeat(32)}`), `0x${'ab'.repeat(32)}`)
  assert.equal(storedPacketId('7TqVxm3Kfa'), '7TqVxm3Kfa')
  for (const text of ['', 'x', `0x${'ab'.repeat(20)}`, '0OIl567890', "' OR 1", 'a'.repeat(45)]) {
    assert.throws(() => storedPacketId(text), { faultName: 'RED_PACKET_NOT_FOUND' })
  }
})

test('a share id has ten characters, derived from chain and packet', () => {
  const ids = Array.from({ length: 2_000 }, (_, n) => shareIdOf('eth', `0x${n}`))
  assert.equal(new Set([...ids, shareIdOf('bsc', '0x0')]).size, 2_001)
  for (const id of ids) assert.match(id, /^[1-9A-HJ-NP-Za-km-z]{10}$/)
  assert.equal(shareIdOf('eth', '0x7'), ids[7])
})

/** Attempts of one process that shares its counts with no other. */
const attemptsAt = (nowMs: () => number) =>
  createPasswordAttempts(nowMs, createUsageTotals('node', nowMs))
const PACKET = 'eth 0x01'

test('a caller has five wrong passwords a minute, also concurrent ones; right ones are not counted', async () => {
  let nowMs = 1_000_000
  const { attempt } = attemptsAt(() => nowMs)
  const wrong = (callers: readonly string[], packet = PACKET) =>
    attempt({ packet, callers }, async () => false)
  for (let nth = 0; nth < 20; nth += 1) {
    const right = attempt({ packet: PACKET, callers: ['org', 'address'] }, async () => true)
    assert.equal(await right, true)
  }
  const checked = makeDeferred<boolean>()
  const attempts = Array.from({ length: 8 }, () =>
    attempt({ packet: PACKET, callers: ['org', 'address'] }, () => checked.promise),
  )
  checked.resolve(false)
  const all = await Promise.allSettled(attempts)
  assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 5)
  await assert.rejects(wrong(['org', 'other address']), { faultName: 'RATE_LIMIT' })
  await assert.rejects(wrong(['other org', 'address']), { faultName: 'RATE_LIMIT' })
  assert.equal(await wrong(['other org', 'other address']), false)
  assert.equal(await wrong(['org', 'address'], 'eth 0x02'), false, 'at another packet')
  nowMs += 59_999
  await assert.rejects(wrong(['org']), { faultName: 'RATE_LIMIT' })
  nowMs += 1
  assert.equal(await wrong(['org']), false)
})

test('no minute has more than five wrong passwords, whenever it starts', async () => {
  let nowMs = 0
  const { attempt } = attemptsAt(() => nowMs)
  const wrong = () => attempt({ packet: PACKET, callers: ['org'] }, async () => false)
  assert.equal(await wrong(), false)
  nowMs = 59_000
  for (let nth = 0; nth < 4; nth += 1) assert.equal(await wrong(), false)
  nowMs = 61_000
  assert.equal(await wrong(), false)
  await assert.rejects(wrong(), { faultName: 'RATE_LIMIT' })
})

test('all callers together have sixty wrong passwords at a packet, then one a second', async () => {
  let nowMs = 1_000_000
  let caller = 0
  const { attempt } = attemptsAt(() => nowMs)
  const by = (isRight: boolean, packet = PACKET) =>
    attempt({ packet, callers: [`org ${caller++}`] }, async () => isRight)
  const failing = attempt({ packet: PACKET, callers: ['org'] }, () =>
    Promise.reject(new Error('busy')),
  )
  await assert.rejects(failing, /busy/)
  for (let nth = 0; nth < 60; nth += 1) {
    assert.equal(await by(true), true)
    assert.equal(await by(false), false)
  }
  await assert.rejects(by(false), { faultName: 'RATE_LIMIT' })
  await assert.rejects(by(true), { faultName: 'RATE_LIMIT' }, 'nobody learns whether it was right')
  assert.equal(await by(false, 'bsc 0x01'), false, 'at another packet')
  nowMs += 999
  await assert.rejects(by(false), { faultName: 'RATE_LIMIT' })
  nowMs += 1
  assert.equal(await by(true), true)
  assert.equal(await by(false), false)
  await assert.rejects(by(false), { faultName: 'RATE_LIMIT' })
})

test('passwords of one organization take a part of the queue, and those of others are derived between them', async () => {
  const authorities = createPasswordAuthority('secret')
  const order: string[] = []
  const ask = (orgId: string, nth: number) =>
    authorities('packet', `password ${nth}`, orgId).then(
      () => order.push(orgId),
      ({ faultName }) => order.push(`${orgId} ${faultName}`),
    )
  const many = Array.from({ length: 60 }, (_, nth) => ask('a', nth))
  await Promise.all([...many, ask('b', 1), ask('b', 2)])
  const refused = order.filter((one) => one === 'a CONCURRENCY_LIMIT')
  const derived = order.filter((one) => one !== 'a CONCURRENCY_LIMIT')
  // On a busy machine the last of them wait longer than any may.
  assert.ok(refused.length >= 60 - 11, `${refused.length} refused`)
  assert.equal(refused.length + derived.length, 60 + 2)
  assert.equal(derived.filter((one) => one === 'b').length, 2)
  assert.ok(derived.lastIndexOf('b') < 6, derived.join(' '))
})

test('the claim authority of a password depends on the password, the packet and the secret', async () => {
  const authorities = createPasswordAuthority('secret')
  const one = await authorities('0x01', 'open', 'org')
  const addresses = [
    one.address,
    (await authorities('0x01', 'Open', 'org')).address,
    (await authorities('0x02', 'open', 'org')).address,
    (await createPasswordAuthority('other')('0x01', 'open', 'org')).address,
  ]
  assert.equal(new Set(addresses).size, 4)
  assert.equal(
    (await createPasswordAuthority('secret')('0x01', 'open', 'org')).address,
    one.address,
  )
  const message = `0x${'5a'.repeat(32)}` as const
  const signature = await one.signMessage({ message: { raw: message } })
  assert.equal(await signerOfMessage(message, signature), one.address.toLowerCase())
  assert.equal(await signerOfMessage(message, `0x${'00'.repeat(65)}`), '')
})
