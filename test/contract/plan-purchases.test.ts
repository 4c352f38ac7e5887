import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { localCodec } from '../../core/codec/local-codec.ts'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { DAY_MS } from '../../core/time.ts'
import { globalTopic } from '../../schemas/topics.ts'
import { createOrganizations, type Organizations } from '../../serving/auth/organizations.ts'
import type { PlanOrder } from '../../serving/auth/plan-purchases.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import type { TransferState } from '../../serving/payments/contract.ts'
import { startFinishingPurchases } from '../../serving/payments/finish-purchases.ts'
import { openTempBus } from '../support/temp-bus.ts'
import { until } from '../support/until.ts'

/** In the middle of a month. */
const START_MS = Date.UTC(2026, 5, 10)
const log = makeSilentLogger()
const { bus, stop } = await openTempBus()

let organizations: Organizations
let nowMs = START_MS

const openAccounts = (pepper = 'pepper'): Promise<Organizations> =>
  createOrganizations({
    bus,
    codec: localCodec(),
    log,
    metrics: makeMetrics(),
    nowMs: () => nowMs,
    config: loadConfig({}, { keyPepper: pepper }),
    authUrl: () => 'https://auth.test',
    checkEveryMs: 20,
  })

before(async () => {
  organizations = await openAccounts()
})
after(async () => {
  await organizations.stop()
  await stop()
})

let orders = 0
const orderOf = (address: string, plan: string): PlanOrder => {
  orders += 1
  const nonce = `0x${orders.toString(16).padStart(64, '0')}`
  return {
    payment_id: `base:token:${address}:${nonce}`,
    plan,
    chain: 'evm',
    address,
    nonce,
    network: 'base',
    asset: '0xAA',
    pay_to: '0xBB',
    amount_raw: '5000000',
    valid_before: nowMs + 60_000,
  }
}
const addressOf = (digit: number): string => `0x${String(digit).repeat(40)}`
const purchases = () =>
  organizations.purchasesAs({ actor: 'evm:test', address: '127.0.0.1', requestId: 'r' })
const buy = async (order: PlanOrder, usedMilli = 0) => {
  await purchases().order(order)
  return purchases().complete(order.payment_id, '0xdead', () => usedMilli)
}
const planOf = (apiKey: string) => {
  const who = organizations.guard.authenticate({ apiKey })
  assert.ok(who !== undefined)
  return 'plan' in who ? who.plan : who.faultName
}

test('a purchased plan ends after thirty days: an account without another plan is refused, one with another plan returns to it', async () => {
  const { apiKey } = await buy(orderOf(addressOf(1), 'nano'))
  const other = await buy(orderOf(addressOf(2), 'starter'))
  await organizations.admin.updateOrg(other.purchase.org_id, { plan: 'free' })
  const plans = async (afterMs: number) => {
    nowMs += afterMs
    await until(() => organizations.check.run().ok, 'the accounts are fresh')
    return [planOf(apiKey ?? ''), planOf(other.apiKey ?? '')]
  }
  assert.deepEqual(await plans(0), ['nano', 'starter'])
  assert.deepEqual(await plans(30 * DAY_MS - 1), ['nano', 'starter'])
  assert.deepEqual(await plans(1), ['PAYMENT_REQUIRED', 'free'])
  const { apiKey: none } = await buy(orderOf(addressOf(1), 'nano'))
  assert.equal(none, null)
  assert.deepEqual(await plans(0), ['nano', 'free'])
})

test('an order is completed once: the account, the plan and its end do not move', async () => {
  const order = orderOf(addressOf(3), 'nano')
  const first = await buy(order)
  nowMs += 1_000
  assert.equal(await purchases().order(order), false)
  const again = await purchases().complete(order.payment_id, '0xbeef', () => 7)
  assert.deepEqual(again, { purchase: first.purchase, apiKey: null })
  await assert.rejects(
    purchases().complete('base:none', '0x1', () => 0),
    /No such purchase/,
  )
})

test('a plan bought behind the end of a link opens the wallet only to tokens signed later', async () => {
  const address = addressOf(7)
  const { registry, admin } = organizations
  const find = (issuedAtMs: number) =>
    registry.findWallet(`evm:${address}`, { issuedAtMs, expiresAtMs: nowMs + DAY_MS }, nowMs).kind
  const firstAtMs = nowMs
  const { purchase } = await buy(orderOf(address, 'nano'))
  assert.equal(find(firstAtMs - DAY_MS), 'good', 'no link before the first')
  nowMs += 1_000
  const endedAtMs = nowMs
  await admin.deleteOrg(purchase.org_id)
  assert.equal(find(nowMs), 'unlinked')
  nowMs += 1_000
  await buy(orderOf(address, 'nano'))
  assert.deepEqual([firstAtMs, endedAtMs, endedAtMs + 1, nowMs].map(find), [
    'revoked',
    'revoked',
    'good',
    'good',
  ])
})

test('a second order of a wallet waits for the first, and abandoning one gives way', async () => {
  const [first, second] = [orderOf(addressOf(4), 'nano'), orderOf(addressOf(4), 'nano')]
  assert.equal(await purchases().order(first), true)
  await assert.rejects(purchases().order(second), { details: { reason: 'purchase_under_way' } })
  await purchases().abandon(first.payment_id, 'test')
  assert.equal(await purchases().order(second), true)
  await purchases().abandon(second.payment_id, 'test')
  const { purchase } = await buy(orderOf(addressOf(4), 'nano'))
  await purchases().abandon(purchase.payment_id, 'what is paid stays')
  assert.deepEqual(organizations.registry.purchase(purchase.payment_id), purchase)
})

test('purchases are read again from signed records; those of another writer are refused', async () => {
  const { purchase } = await buy(orderOf(addressOf(5), 'pro'))
  const second = await openAccounts()
  assert.deepEqual(second.registry.purchase(purchase.payment_id), purchase)
  await second.stop()
  const writer = await bus.writer('stranger')
  const forged = localCodec().encode('control.PlanPurchase', { ...purchase, plan: 'enterprise' })
  await writer.commit({
    records: [
      {
        topic: globalTopic('controlPlanPurchases'),
        partition: 0,
        key: purchase.payment_id,
        value: forged,
      },
    ],
  })
  await writer.close()
  const third = await openAccounts()
  assert.equal(third.registry.purchase(purchase.payment_id)?.plan, 'pro')
  await third.stop()
})

test('units are counted from the purchase within its month', async () => {
  const meter = createMeter({ nowMs: () => nowMs })
  const org = { orgId: 'org_counts', plan: 'nano' as const, scopes: [], appId: '' }
  const who = { ...org, kind: 'api-key' as const, credentialId: '', expiresAtMs: null }
  meter.reserve(who, 400_000_000).settle(400_000_000)
  const countsFrom = { atMs: nowMs, milliUnits: meter.month('org_counts').milliUnits }
  assert.equal(meter.quota(who).remaining, 100_000)
  assert.equal(meter.quota({ ...who, countsFrom }).remaining, 500_000)
  meter.reserve({ ...who, countsFrom }, 450_000_000).settle(450_000_000)
  assert.equal(meter.quota({ ...who, countsFrom }).remaining, 50_000)
  assert.throws(() => meter.reserve(who, 1_000), /quota are left/)
})

test('units of before the purchase are given once: the months after it count from nothing', () => {
  let now = Date.UTC(2026, 10, 20)
  const meter = createMeter({ nowMs: () => now })
  const org = { orgId: 'org_later', plan: 'nano' as const, scopes: [], appId: '' }
  const who = { ...org, kind: 'api-key' as const, credentialId: '', expiresAtMs: null }
  meter.reserve(who, 400_000_000).settle(400_000_000)
  const bought = { ...who, countsFrom: { atMs: now, milliUnits: 400_000_000 } }
  assert.equal(meter.quota(bought).remaining, 500_000)
  now = Date.UTC(2026, 11, 2)
  meter.reserve(bought, 300_000_000).settle(300_000_000)
  assert.equal(meter.quota(bought).remaining, 200_000)
})

/** Looks after open orders until a moment has come. */
const finish = async (
  state: TransferState,
  row: { readonly state: string; readonly transaction: string } | undefined,
  done: () => boolean,
) => {
  const asked: string[] = []
  const running = startFinishingPurchases({
    organizations,
    nowMs: () => nowMs,
    log,
    graceMs: 0,
    everyMs: 5,
    usedMilli: () => 0,
    payments: { isHeld: () => false },
    paymentLog: { isFresh: () => true, find: () => row as never },
    facilitatorOf: () => ({
      verify: async () => undefined,
      settle: async () => ({ problem: 'unexpected_settle_error', isFinal: true }),
      lookUp: async (_transfer, earlier) => {
        asked.push(earlier)
        return state
      },
      close: async () => undefined,
    }),
  })
  try {
    await until(() => done() || asked.length > 3, 'the orders are looked at')
  } finally {
    await running.stop()
  }
  return asked
}

test('interrupted orders: an order that the chain or the log shows as paid is completed, one that cannot be paid is dropped', async () => {
  const nextOrder = async () => {
    const order = orderOf(addressOf(6), 'nano')
    await purchases().order(order)
    nowMs += 1
    return order.payment_id
  }
  const stateOf = (id: string) => organizations.registry.purchase(id)?.state
  const onChain = await nextOrder()
  const asked = await finish(
    { transaction: '0xc0de' },
    { state: 'settling', transaction: '0x11' },
    () => stateOf(onChain) === 'paid',
  )
  assert.equal(asked[0], '0x11', 'the transaction that was sent is asked for')
  assert.equal(organizations.registry.purchase(onChain)?.transaction, '0xc0de')
  const onLog = await nextOrder()
  const settled = { state: 'settled', transaction: '0x22' }
  assert.deepEqual(await finish('unknown', settled, () => stateOf(onLog) === 'paid'), [])
  assert.equal(organizations.registry.purchase(onLog)?.transaction, '0x22')
  const unpaid = await nextOrder()
  await finish('unused', undefined, () => stateOf(unpaid) === undefined)
  assert.equal(stateOf(unpaid), 'ordered', 'it may be paid yet')
  nowMs += 60_000 + 120_000
  const settling = { state: 'settling', transaction: '' }
  for (const [state, row] of [['used', undefined] as const, ['unknown', settling] as const]) {
    await finish(state, row, () => stateOf(unpaid) === undefined)
    assert.equal(stateOf(unpaid), 'ordered', `${state}: the operator decides`)
  }
  await finish('unused', undefined, () => stateOf(unpaid) === undefined)
  assert.equal(stateOf(unpaid), undefined)
})
