import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { DAY_MS } from '../../core/time.ts'
import type { PlanPurchase } from '../../schemas/wire.ts'
import {
  type FinishDeps,
  startFinishingPurchases,
} from '../../serving/payments/finish-purchases.ts'
import { until } from '../support/until.ts'

test('purchase orders of unknown outcome do not keep later ones from being checked', async () => {
  const orders = Array.from(
    { length: 120 },
    (_, at) =>
      ({
        payment_id: `p${at}`,
        network: 'base',
        asset: '0x1',
        address: '0x2',
        pay_to: '0x3',
        amount_raw: '1',
        nonce: `0x${at}`,
        valid_before: 0,
        ordered_at: 0,
      }) as unknown as PlanPurchase,
  )
  const lookedUp = new Set<string>()
  const deps = {
    organizations: { registry: { open: () => orders }, purchasesAs: () => ({}) },
    payments: { isHeld: () => false },
    paymentLog: { find: () => undefined, isFresh: () => true },
    facilitatorOf: () => ({
      lookUp: async ({ nonce }: { readonly nonce: string }) => {
        lookedUp.add(nonce)
        return 'unknown'
      },
    }),
    usedMilli: () => 0,
    nowMs: Date.now,
    log: makeSilentLogger(),
    everyMs: 5,
  } as unknown as FinishDeps
  const finishing = startFinishingPurchases(deps)
  await until(() => lookedUp.size === orders.length, 'every order is looked at')
  await finishing.stop()
})

test('an order whose payment was never written down ends after its authorization, also where no node can be asked', async () => {
  const nowMs = Date.now()
  const order = (payment_id: string, network: string, agoMs: number): PlanPurchase =>
    ({
      payment_id,
      network,
      asset: '0x1',
      address: '0x2',
      pay_to: '0x3',
      amount_raw: '1',
      nonce: payment_id,
      valid_before: nowMs - agoMs + 60_000,
      ordered_at: nowMs - agoMs,
    }) as unknown as PlanPurchase
  const orders = [
    order('no-node', 'base', 600_000),
    order('network-removed', 'polygon', 600_000),
    order('sent', 'base', 600_000),
    order('still-valid', 'base', 61_000),
    // What was written down of it would not be found any more.
    order('forgotten', 'base', 2 * DAY_MS),
  ]
  const [abandoned, lookedUp] = [new Set<string>(), new Set<string>()]
  const finishing = startFinishingPurchases({
    organizations: {
      registry: { open: () => orders },
      purchasesAs: () => ({ abandon: async (id: string) => void abandoned.add(id) }),
    },
    payments: { isHeld: () => false },
    paymentLog: {
      find: (id: string) => (id === 'sent' ? { state: 'settling', transaction: '' } : undefined),
      isFresh: () => true,
    },
    facilitatorOf: (network: string) =>
      network === 'base'
        ? {
            lookUp: async ({ nonce }: { readonly nonce: string }) => {
              lookedUp.add(nonce)
              return 'unknown'
            },
          }
        : undefined,
    usedMilli: () => 0,
    nowMs: () => nowMs,
    log: makeSilentLogger(),
    everyMs: 5,
  } as unknown as FinishDeps)
  await until(() => lookedUp.has('forgotten'), 'the last order is looked at')
  await finishing.stop()
  assert.deepEqual([...abandoned], ['no-node', 'network-removed'])
})
